"""From CQL text to a plan, or to an error that says where and what to do."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
from sqlglot import exp

from slackwater.core.aggregates import AggregateError, make
from slackwater.core.aggregates.base import Aggregate
from slackwater.core.stage import StagePlan
from slackwater.core.time import TimeDomain
from slackwater.core.windows.arithmetic import WindowSpec
from slackwater.core.windows.layout import Layout
from slackwater.core.windows.operators import AnyLayout
from slackwater.core.windows.raw import RawLayout
from slackwater.cql.parse import parse
from slackwater.cql.positions import offset_of, paren_around
from slackwater.cql.refusals import refuse
from slackwater.cql.resolve import WindowResolver
from slackwater.cql.select import Select, SelectReader, expressions_in, sql_of
from slackwater.cql.types import type_name
from slackwater.cql.windows import WindowClause, take_window_clauses
from slackwater.errors import QueryError
from slackwater.plan.expressions import ExpressionError, Typer
from slackwater.plan.stages import Output, Plan, QueryStage


def compile_query(
    query: str, streams: Mapping[str, pa.Schema], typer: Typer, external: bool = False
) -> Plan:
    """The plan of a query over streams of known columns.

    ``external`` says that heartbeats are given from outside, so that no SLACK is needed.
    """
    text, clauses = take_window_clauses(query)
    compiler = _Compiler(query, text, clauses, streams, typer, external)
    try:
        return compiler.plan(parse(query, text))
    except RecursionError:
        raise QueryError("this query is nested too deeply", query, 0, "split it") from None


@dataclass
class _Source:
    """What a SELECT reads: a stream, or the results of the stage before."""

    name: str
    schema: pa.Schema
    scope: int
    node: exp.Expr
    below: QueryStage | None = None


@dataclass(frozen=True)
class _Inputs:
    """What a host evaluates over the source, and its types."""

    sql: tuple[str, ...]
    types: tuple[pa.DataType, ...]


class _Compiler:
    def __init__(
        self, query: str, text: str, clauses: list[WindowClause],
        streams: Mapping[str, pa.Schema], typer: Typer, external: bool,
    ) -> None:  # fmt: skip
        self.query, self.text, self.clauses = query, text, list(clauses)
        self.streams, self.typer, self.external = streams, typer, external
        self.stages: list[QueryStage] = []
        self.stream = ""

    def plan(self, select: exp.Select) -> Plan:
        self._stage(select)
        if self.clauses:
            offset = self.clauses[0].offset
            hint = "write it after the stream's name"
            raise self.error("this window clause belongs to no stream", offset, hint)
        return Plan(self.query, self.stream, tuple(self.stages))

    def error(self, message: str, offset: int, hint: str = "") -> QueryError:
        return QueryError(message, self.query, offset, hint)

    def _stage(self, select: exp.Select) -> _Source:
        refuse(self.query, select)
        source = self._source(select)
        names = [source.name, source.node.alias_or_name]
        clause = self._clause(source)
        partition = [] if clause is None else clause.partition
        parts = SelectReader(self.query, select, source.schema, names, partition).read()
        if source.below is None:
            layout, inputs = self._first_layout(source, parts, clause)
        else:
            layout, inputs = self._later_layout(source, source.below, parts, clause)
        stage = self._finished(source, parts, clause, layout, inputs)
        self.stages.append(stage)
        return _Source("", stage.result_schema, self._enclosing(source.scope), select, stage)

    def _source(self, select: exp.Select) -> _Source:
        clause = select.args.get("from_") or select.args.get("from")
        if clause is None:
            raise self.error(
                "this SELECT reads no stream", offset_of(select), "add FROM and a stream"
            )
        node = clause.this
        if isinstance(node, exp.Subquery) and isinstance(node.this, exp.Select):
            inner = self._stage(node.this)
            return _Source(node.alias, inner.schema, inner.scope, node, inner.below)
        if not isinstance(node, exp.Table) or node.db or not node.name:
            raise self.error(
                "FROM needs the name of a stream", offset_of(node), self._known_streams()
            )
        names = {name.lower(): name for name in self.streams}
        name = names.get(node.name.lower())
        if name is None:
            near = difflib.get_close_matches(node.name.lower(), names, 1)
            hint = f"did you mean {names[near[0]]!r}? " if near else ""
            raise self.error(
                f"unknown stream {node.name!r}", offset_of(node), hint + self._known_streams()
            )
        self.stream = name
        self._refuse_twins(name, offset_of(node))
        return _Source(name, self.streams[name], paren_around(self.text, offset_of(node)), node)

    def _refuse_twins(self, stream: str, offset: int) -> None:
        """Column names are looked up without case, so each may be there once only."""
        seen: set[str] = set()
        for name in self.streams[stream].names:
            if name.lower() in seen:
                raise self.error(
                    f"stream {stream} has two columns called {name!r}", offset,
                    "rename one, or select the columns that the query needs",
                )  # fmt: skip
            seen.add(name.lower())

    def _known_streams(self) -> str:
        return f"streams: {', '.join(self.streams) or 'none given'}"

    def _enclosing(self, paren: int) -> int:
        return paren_around(self.text, paren) if paren >= 0 else -1

    def _clause(self, source: _Source) -> WindowClause | None:
        found = [c for c in self.clauses if c.depth_start == source.scope]
        if len(found) > 1:
            raise self.error("this stream has two window clauses", found[1].offset, "keep one")
        if not found:
            if source.below is not None:
                return None
            raise self.error(
                f"the stream {source.name} has no window clause", offset_of(source.node),
                f"FROM {source.name} [RANGE 60 seconds, SLIDE 1 second, DRATIO 1%]",
            )  # fmt: skip
        self.clauses.remove(found[0])
        return found[0]

    def _first_layout(
        self, source: _Source, parts: Select, clause: WindowClause | None
    ) -> tuple[AnyLayout, _Inputs]:
        assert clause is not None
        window = WindowResolver(self.query, clause)
        wattr = window.wattr(source.name, source.schema)
        domain = window.domain(source.schema.field(wattr))
        arrival = window.arrival(source.schema, domain)
        filtered = parts.where is not None and not self.external
        inputs = [sql_of(exp.column(name, quoted=True)) for name in (wattr, arrival) if name]
        if filtered and parts.where is not None:
            inputs.append(sql_of(parts.where))
        shape: dict[str, Any] = {"filtered": filtered, "has_arrival": arrival is not None}
        if not window.slides_on_every_tuple:
            shape |= {"spec": window.spec(domain), "revise": window.revise(domain)}
            return self._layout(source, parts, domain, inputs, shape)
        if clause.revise is not None:
            raise self.error(
                "a window that slides on every tuple is not revised", clause.revise.offset,
                "say how often to slide, or drop REVISE WITHIN",
            )  # fmt: skip
        assert clause.range is not None
        shape |= {"range": window.raw_range(domain), "counted": clause.range.counted}
        shape["partition"] = tuple(parts.partition)
        return self._layout(source, parts, domain, inputs, shape)

    def _later_layout(
        self, source: _Source, below: QueryStage, parts: Select, clause: WindowClause | None
    ) -> tuple[AnyLayout, _Inputs]:
        inner = below.core.layout
        inputs = ["`window`.`end`"]
        shape: dict[str, Any] = {"time_is_window_end": isinstance(inner, Layout)}
        if clause is not None:
            shape["spec"] = self._later_spec(clause, inner.domain)
        elif isinstance(inner, Layout):
            slide = inner.spec.slide
            shape["spec"] = WindowSpec(slide, slide, inner.domain.is_float)
            shape["reported_range"] = inner.reported_range or inner.spec.range
        else:
            raise self.error(
                "the query below gives a result for each tuple, so this one needs a window",
                offset_of(source.node), "FROM (…) [RANGE 60 seconds, SLIDE 60 seconds]",
            )  # fmt: skip
        shape["filtered"] = parts.where is not None
        if parts.where is not None:
            inputs.append(sql_of(parts.where))
        domain = TimeDomain(inner.domain.result_type)
        return self._layout(source, parts, domain, inputs, shape)

    def _later_spec(self, clause: WindowClause, domain: TimeDomain) -> WindowSpec:
        beyond = clause.seen - {"RANGE", "SLIDE", "PARTITION"}
        if beyond:
            raise self.error(
                "a query over a query takes its time from the query below", clause.offset,
                f"give RANGE and SLIDE only, not {min(beyond)}",
            )  # fmt: skip
        window = WindowResolver(self.query, clause)
        if window.slides_on_every_tuple:
            raise self.error(
                "a query over a query says how often it slides", clause.offset,
                "add SLIDE, a whole number of times in RANGE",
            )  # fmt: skip
        return window.spec(domain)

    def _layout(
        self, source: _Source, parts: Select, domain: TimeDomain, inputs: list[str],
        shape: dict[str, Any],
    ) -> tuple[AnyLayout, _Inputs]:  # fmt: skip
        arguments = list(expressions_in(parts))
        key_sql = [sql for _, sql in parts.keys]
        types = self._types(source.schema, [*inputs, *key_sql, *arguments], parts)
        self._check_inputs(types, inputs, shape["filtered"], parts)
        given = _Inputs((*inputs, *key_sql, *arguments), tuple(types))
        types = types[len(inputs) :]
        keys = [pa.field(name, type_) for (name, _), type_ in zip(parts.keys, types, strict=False)]
        for key, (_, sql) in zip(keys, parts.keys, strict=True):
            if pa.types.is_map(key.type) or pa.types.is_list(key.type):
                raise self.error(f"cannot group by {key.name!r}: it is a {type_name(key.type)}",
                                 parts.places[sql], "group by an element of it")  # fmt: skip
        argument_types = tuple(types[len(keys) :])
        by_sql = dict(zip(arguments, argument_types, strict=True))
        shape |= {
            "domain": domain,
            "keys": tuple(keys),
            "aggregates": tuple(self._aggregates(parts, by_sql, domain)),
            "arguments": tuple(tuple(map(arguments.index, c.arguments)) for c in parts.calls),
        }
        if "spec" in shape:
            return Layout(**shape), given
        return RawLayout(**shape, input_types=argument_types), given

    def _check_inputs(
        self, types: list[pa.DataType], inputs: list[str], filtered: bool, parts: Select
    ) -> None:
        if filtered and parts.where is not None and not pa.types.is_boolean(types[len(inputs) - 1]):
            raise self.error(
                "WHERE needs a condition", offset_of(parts.where), "compare it with something"
            )

    def _aggregates(
        self, parts: Select, types: Mapping[str, pa.DataType], domain: TimeDomain
    ) -> list[Aggregate]:
        time = pa.float64() if domain.is_float else pa.int64()
        made = []
        for call in parts.calls:
            try:
                inputs = [types[sql] for sql in call.arguments]
                made.append(make(call.function, inputs, time, call.constants, call.distinct))
            except AggregateError as error:
                raise self.error(str(error), call.offset, f"in {call.label}") from None
        return made

    def _types(self, schema: pa.Schema, expressions: list[str], parts: Select) -> list[pa.DataType]:
        try:
            return self.typer(schema, expressions)
        except ExpressionError as error:
            failed = expressions[error.place]
            offset = self._offset_of_input(failed, parts)
            raise self.error(
                f"cannot evaluate {_as_written(failed, parts)}", offset, error.reason
            ) from None

    def _offset_of_input(self, expression: str, parts: Select) -> int:
        if expression in parts.places:
            return parts.places[expression]
        for call in parts.calls:
            if expression in call.arguments:
                return call.offset
        nodes = [parts.where, parts.having, *(node for _, node in parts.outputs)]
        for node in nodes:
            if node is not None and sql_of(node) == expression:
                return offset_of(node)
        found = self.text.lower().find(expression.strip("`").lower())
        return max(found, 0)

    def _finished(
        self, source: _Source, parts: Select, clause: WindowClause | None,
        layout: AnyLayout, inputs: _Inputs,
    ) -> QueryStage:  # fmt: skip
        core = StagePlan(layout, None)
        if source.below is None and clause is not None:
            window = WindowResolver(self.query, clause)
            estimator = window.estimator(layout.domain, self.external)
            core = StagePlan(layout, estimator, window.max_future(layout.domain))
        result = layout.result_schema
        expressions = [sql_of(node) for _, node in parts.outputs]
        having = None if parts.having is None else sql_of(parts.having)
        checked = [*expressions, having] if having else expressions
        types = self._types(result, checked, parts)
        if parts.having is not None and not pa.types.is_boolean(types[-1]):
            raise self.error(
                "HAVING needs a condition", offset_of(parts.having), "compare it with something"
            )
        names = [name for name, _ in parts.outputs]
        outputs = [Output(*each) for each in zip(names, expressions, types, strict=False)]
        where = None if parts.where is None else sql_of(parts.where)
        labels = tuple(call.label for call in parts.calls)
        self._pass_groups_on(parts)
        return QueryStage(
            source.schema, inputs.sql, inputs.types, where, core, tuple(outputs), having, labels
        )

    def _pass_groups_on(self, parts: Select) -> None:
        """Tell the stage below which of its group columns this one groups by too."""
        if not self.stages:
            return
        below = self.stages[-1]
        shown = {o.name: o.sql for o in below.outputs}
        inner_names = {f"k{i}": key.name for i, key in enumerate(below.core.layout.keys)}
        passing = {
            inner_names[shown[sql.strip("`")]]: name
            for name, sql in parts.keys
            if shown.get(sql.strip("`")) in inner_names
        }
        self.stages[-1] = replace(below, core=replace(below.core, passing=passing))


def _as_written(sql: str, parts: Select) -> str:
    """An expression over ``k…`` and ``a…`` in the words of the query."""
    words = {f"k{i}": key for i, (_, key) in enumerate(parts.keys)}
    words |= {f"a{i}": call.label for i, call in enumerate(parts.calls)}
    return re.sub(r"\b[ka]\d+\b", lambda found: words.get(found.group(), found.group()), sql)

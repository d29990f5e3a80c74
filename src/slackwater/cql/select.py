"""One SELECT taken apart: what is grouped, what is aggregated, what is computed after.

Aggregate calls are replaced by ``a0, a1, …`` and group expressions by ``k0, k1, …``; what
remains of a SELECT item or of HAVING is then an expression over these.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from slackwater.cql.calls import Call, CallError, function_of, is_wrapper, taken_apart
from slackwater.cql.positions import offset_of, start_of
from slackwater.cql.windows import Token
from slackwater.errors import QueryError


@dataclass
class Select:
    """A SELECT over named columns, taken apart."""

    keys: list[tuple[str, str]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    outputs: list[tuple[str, exp.Expr]] = field(default_factory=list)
    places: dict[str, int] = field(default_factory=dict)
    """Where each group expression stands in the query, by its SQL."""
    partition: list[int] = field(default_factory=list)
    """Which of the keys PARTITION BY names."""
    where: exp.Expr | None = None
    having: exp.Expr | None = None


def sql_of(node: exp.Expr) -> str:
    """Spark SQL with function names as they were written."""
    return node.sql(dialect="spark", normalize_functions=False)


class SelectReader:
    """Reads one SELECT over a source of known columns."""

    def __init__(
        self, query: str, select: exp.Select, schema: pa.Schema, names: Sequence[str],
        partition: Sequence[Token] = (),
    ) -> None:  # fmt: skip
        self.query, self.select, self.schema = query, select, schema
        self.partition = partition
        self.qualifiers = {name.lower() for name in names if name}
        self.columns = {name.lower(): name for name in schema.names}
        self.result = Select()

    def read(self) -> Select:
        where = self.select.args.get("where")
        if where is not None:
            self._refuse_aggregates(where.this, "use HAVING for conditions on aggregates")
            self.result.where = self._resolved(where.this)
        self._read_keys()
        for item in self.select.expressions:
            self._read_item(item)
        having = self.select.args.get("having")
        if having is not None:
            self.result.having = self._over_results(self._resolved(self._unaliased(having.this)))
        if not self.result.calls:
            raise self.error(
                "a window query needs an aggregate", self.select.expressions[0],
                "for example SELECT COUNT(*) AS n FROM S [RANGE 60 seconds, SLIDE 1 second]",
            )  # fmt: skip
        self._add_missing_keys()
        return self.result

    def error(self, message: str, node: exp.Expr, hint: str = "") -> QueryError:
        return QueryError(message, self.query, start_of(self.query, node), hint)

    def _read_keys(self) -> None:
        group = self.select.args.get("group")
        for node in group.expressions if group is not None else []:
            place = start_of(self.query, node)
            node = node.unnest()
            node, name = self._key_node(node)
            self._refuse_aggregates(node, "group by what tuples hold; conditions go into HAVING")
            resolved = self._resolved(node)
            name = name or (node.name if isinstance(node, exp.Column) else sql_of(resolved))
            if isinstance(resolved, exp.Column) and resolved.name in self.columns.values():
                name = resolved.name
            sql = sql_of(resolved)
            if sql not in self.result.places:
                self.result.places[sql] = place
                self.result.keys.append((name, sql))
        self._read_partition()

    def _read_partition(self) -> None:
        """PARTITION BY columns are grouped by too, so that a result says of which it is."""
        for token in self.partition:
            column = exp.column(token.text.strip("`"))
            column.this.meta["start"] = token.start
            sql = sql_of(self._resolved(column))
            if sql not in self.result.places:
                self.result.places[sql] = token.start
                self.result.keys.append((sql.strip("`"), sql))
            self.result.partition.append([key for _, key in self.result.keys].index(sql))

    def _key_node(self, node: exp.Expr) -> tuple[exp.Expr, str]:
        """GROUP BY may name a SELECT item by its number or its alias."""
        items = self.select.expressions
        if isinstance(node, exp.Literal) and node.is_int:
            number = int(node.this)
            if not 1 <= number <= len(items):
                raise self.error(
                    f"GROUP BY {number}: there are {len(items)} items", node,
                    "number the items of SELECT from 1, or name a column",
                )  # fmt: skip
            return items[number - 1].unalias(), items[number - 1].alias_or_name
        if isinstance(node, exp.Column) and node.name.lower() not in self.columns:
            for item in items:
                if isinstance(item, exp.Alias) and item.alias.lower() == node.name.lower():
                    return item.this, item.alias
        for item in items:
            if isinstance(item, exp.Alias) and item.this == node:
                return node, item.alias
        return node, ""

    def _read_item(self, item: exp.Expr) -> None:
        node = item.unalias()
        resolved = self._resolved(node)
        name = item.alias if isinstance(item, exp.Alias) else self._default_name(node)
        over = self._over_results(resolved)
        if name.lower() == "window" and isinstance(over, exp.Column) and over.name == "window":
            return
        self._refuse_name(name, self.result.outputs, item)
        self.result.outputs.append((name, over))

    def _refuse_name(
        self, name: str, others: Sequence[tuple[str, exp.Expr]], place: exp.Expr
    ) -> None:
        if name.lower() in ("window", "kind", "tuples"):
            raise self.error(
                f"{name!r} is a column that every result has", place, "choose another name with AS"
            )
        if name.lower() in (known.lower() for known, _ in others):
            raise self.error(f"two result columns are called {name!r}", place, "rename one with AS")

    def _default_name(self, node: exp.Expr) -> str:
        if isinstance(node, exp.Column):
            return self.columns.get(node.name.lower(), node.name)
        return sql_of(node).lower()

    def _add_missing_keys(self) -> None:
        """Every result says which group it is of, whether it was asked for or not."""
        shown = {node.name for _, node in self.result.outputs if isinstance(node, exp.Column)}
        missing: list[tuple[str, exp.Expr]] = []
        for i, (name, sql) in enumerate(self.result.keys):
            if f"k{i}" not in shown:
                key = _marked(f"k{i}", self.result.places[sql])
                self._refuse_name(name, [*missing, *self.result.outputs], key)
                missing.append((name, key))
        self.result.outputs[:0] = missing

    def _resolved(self, node: exp.Expr) -> exp.Expr:
        """The expression with plain column names, each known."""
        bound = {
            name.name.lower()
            for function in node.find_all(exp.Lambda)
            for name in function.expressions
        }

        def resolve(part: exp.Expr) -> exp.Expr:
            if not isinstance(part, exp.Column) or part.parts[0].name.lower() in bound:
                return part
            return self._resolve_column(part)

        return node.copy().transform(resolve)

    def _resolve_column(self, column: exp.Column) -> exp.Expr:
        parts = list(column.parts)
        names = [part.name.lower() for part in parts]
        qualified = len(parts) > 1 and names[0] in self.qualifiers
        if qualified and (names[0] not in self.columns or names[1] in self.columns):
            parts = parts[1:]
        first = parts[0].name.lower()
        if first == "window" and first not in self.columns:
            return column
        if first not in self.columns:
            near = difflib.get_close_matches(first, self.columns, 1)
            hint = f"did you mean {self.columns[near[0]]!r}? " if near else ""
            raise self.error(
                f"unknown column {column.sql(dialect='spark')!r}", column,
                f"{hint}columns: {', '.join(self.schema.names)}",
            )  # fmt: skip
        plain: exp.Expr = exp.column(self.columns[first], quoted=True)
        plain.this.meta.update(parts[0].meta)
        for part in parts[1:]:
            plain = exp.Dot(this=plain, expression=part.copy())
        return plain

    def _refuse_aggregates(self, node: exp.Expr, hint: str) -> None:
        """Only what a tuple holds may stand here: no aggregate, and no window."""
        for call in node.find_all(exp.AggFunc):
            raise self.error("an aggregate cannot stand here", call, hint)
        for column in node.find_all(exp.Column):
            if column.parts[0].name.lower() == "window" and "window" not in self.columns:
                raise self.error(
                    "a tuple has no window yet", column,
                    "every result says its window; SELECT and HAVING may use it",
                )  # fmt: skip

    def _unaliased(self, node: exp.Expr) -> exp.Expr:
        """HAVING may name a result column; put its expression there."""
        named = {
            e.alias.lower(): e.this for e in self.select.expressions if isinstance(e, exp.Alias)
        }

        keys = {name.lower() for name, _ in self.result.keys}

        def replace(part: exp.Expr) -> exp.Expr:
            plain = isinstance(part, exp.Column) and len(part.parts) == 1
            if not plain or part.name.lower() in keys or part.find_ancestor(exp.AggFunc):
                return part
            return named.get(part.name.lower(), part).copy()

        return node.copy().transform(replace)

    def _over_results(self, node: exp.Expr) -> exp.Expr:
        """The expression over ``k…`` and ``a…``; whatever else it names is an error."""
        key_places = {sql: i for i, (_, sql) in enumerate(self.result.keys)}

        def replace(part: exp.Expr) -> exp.Expr:
            if sql_of(part) in key_places:
                return _marked(f"k{key_places[sql_of(part)]}", offset_of(part))
            return self._call(part) if is_wrapper(part) or function_of(part) else part

        try:
            replaced = node.copy().transform(replace)
        except CallError as error:
            raise self.error(error.message, error.node, error.hint) from None
        for column in list(replaced.find_all(exp.Column)):
            if column.meta.get("placeholder") or column.parts[0].name.lower() == "window":
                continue
            raise self.error(
                f"column {column.name!r} is neither grouped nor aggregated", column,
                f"add it to GROUP BY, or use an aggregate such as MAX({column.name})",
            )  # fmt: skip
        return replaced

    def _call(self, node: exp.Expr) -> exp.Expr:
        found = taken_apart(node)
        if found.condition is not None:
            self._refuse_aggregates(found.condition, "use HAVING for conditions on aggregates")
        for argument in found.arguments:
            self._refuse_aggregates(argument, "aggregate the results of an inner query in FROM")
        place = start_of(self.query, found.node)
        arguments = _conditional(found.arguments, found.condition)
        call = Call(found.function, arguments, sql_of(node), place, found.constants, found.distinct)
        return _marked(f"a{self._place(call)}", call.offset)

    def _place(self, call: Call) -> int:
        for place, known in enumerate(self.result.calls):
            if known.what == call.what:
                return place
        self.result.calls.append(call)
        return len(self.result.calls) - 1


def _marked(name: str, offset: int) -> exp.Column:
    column = exp.column(name)
    column.meta.update({"placeholder": True, "start": offset})
    return column


def _conditional(arguments: Sequence[exp.Expr], condition: exp.Expr | None) -> tuple[str, ...]:
    """Arguments as SQL; with FILTER (WHERE …) they are null where the condition fails."""
    if condition is None:
        return tuple(sql_of(argument) for argument in arguments)
    wrapped = arguments or [exp.Literal.number(1)]
    return tuple(
        f"CASE WHEN {sql_of(condition)} THEN {sql_of(argument)} END" for argument in wrapped
    )


def expressions_in(select: Select) -> Iterator[str]:
    """Every distinct argument expression, in order."""
    yield from dict.fromkeys(sql for call in select.calls for sql in call.arguments)

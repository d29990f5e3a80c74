"""What SQL knows and a window query does not: each refused with its place and a way out.

A clause that is not named here or read elsewhere is refused too, so that nothing a user
writes is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sqlglot import exp

from slackwater.cql.positions import keyword, offset_of, start_of
from slackwater.errors import QueryError

_READ = {"expressions", "from_", "where", "group", "having", "hint"}
_TABLE_READ = {"this", "alias", "db", "catalog"}
_ENDLESS = {"LIMIT", "OFFSET", "ORDER", "DISTINCT", "QUALIFY", "SORT", "CLUSTER", "DISTRIBUTE"}
_GROUPINGS = {
    "grouping_sets": "GROUPING", "rollup": "ROLLUP", "cube": "CUBE", "all": "ALL",
    exp.GroupingSets: "GROUPING", exp.Rollup: "ROLLUP", exp.Cube: "CUBE",
}  # fmt: skip
_JOIN_BEFORE = "join or transform before: pass the resulting DataFrame as the stream"


class Refusal(NamedTuple):
    message: str
    offset: int
    hint: str


Rule = Callable[[str, exp.Select], Iterator[Refusal]]


def refuse(query: str, select: exp.Select) -> None:
    """Raise the first refusal that a SELECT deserves; nested ones are looked at in their turn."""
    for rule in RULES:
        for refusal in rule(query, select):
            raise QueryError(refusal.message, query, refusal.offset, refusal.hint)


def _with(query: str, select: exp.Select) -> Iterator[Refusal]:
    node = select.args.get("with_")
    if node:
        yield Refusal(
            "WITH cannot be used here", keyword(query, "WITH", offset_of(node)),
            "write the inner query in FROM: FROM (SELECT … GROUP BY k) [RANGE …]",
        )  # fmt: skip


def _several_streams(_: str, select: exp.Select) -> Iterator[Refusal]:
    for holder in (select, *_tables(select)):
        for name in ("joins", "laterals", "pivots"):
            for node in holder.args.get(name) or ():
                yield Refusal("a window query reads one stream", offset_of(node), _JOIN_BEFORE)


def _other_clauses(query: str, select: exp.Select) -> Iterator[Refusal]:
    first = offset_of(select.expressions[0]) if select.expressions else 0
    for name, node in select.args.items():
        if not node or name in _READ:
            continue
        word = {"locks": "FOR", "windows": "WINDOW"}.get(name, name.upper())
        near = offset_of(node) if isinstance(node, exp.Expr) else len(query)
        offset = keyword(query, word, near or first)
        if word in _ENDLESS:
            yield Refusal(f"{word} does not apply to an endless stream", offset,
                          "leave it out, and apply it to the result")  # fmt: skip
        yield Refusal(f"{word} has no meaning in a window query", offset, "leave it out")


def _stream_clauses(query: str, select: exp.Select) -> Iterator[Refusal]:
    for table in _tables(select):
        for name, node in table.args.items():
            if node and name not in _TABLE_READ:
                word = {"sample": "TABLESAMPLE"}.get(name, name.upper())
                yield Refusal(
                    f"{word} does not apply to a stream", keyword(query, word, len(query)),
                    "leave it out, or apply it to the DataFrame before",
                )  # fmt: skip


def _groupings(query: str, select: exp.Select) -> Iterator[Refusal]:
    group = select.args.get("group")
    if group is None:
        return
    for node in group.expressions:
        if isinstance(node, exp.Tuple):
            yield Refusal("GROUP BY takes columns, not a list in parentheses",
                          offset_of(node) or keyword(query, "GROUP", len(query)),
                          "GROUP BY a, b")  # fmt: skip
    words = [_GROUPINGS.get(type(node)) for node in group.expressions]
    words += [_GROUPINGS.get(name, name.upper()) for name, node in group.args.items()
              if node and name != "expressions"]  # fmt: skip
    for word in filter(None, words):
        yield Refusal(
            f"GROUP BY {word}{' SETS' if word == 'GROUPING' else ''} cannot be had",
            keyword(query, word, len(query)),
            "name the columns: GROUP BY a, b; run one query for each grouping",
        )


def _overs(query: str, select: exp.Select) -> Iterator[Refusal]:
    for node in _in_expressions(select, exp.Window):
        yield Refusal(
            "OVER has no meaning here: the window is the one after the stream's name",
            start_of(query, node.this),
            "leave OVER out; SUM(v) is the sum over each window and group",
        )


def _subqueries(query: str, select: exp.Select) -> Iterator[Refusal]:
    for node in _in_expressions(select, exp.Query):
        if not isinstance(node, exp.Subquery):
            yield Refusal("a subquery can stand in FROM only",
                          keyword(query, "SELECT", offset_of(node)), _JOIN_BEFORE)  # fmt: skip


def _parameters(query: str, select: exp.Select) -> Iterator[Refusal]:
    for node in _in_expressions(select, (exp.Placeholder, exp.Parameter)):
        text = node.sql(dialect="spark")
        yield Refusal(f"the parameter {text} has no value", max(query.find(text), 0),
                      "write the value itself")  # fmt: skip


def _stars(_: str, select: exp.Select) -> Iterator[Refusal]:
    for item in select.expressions:
        if isinstance(item, exp.Star) or (isinstance(item, exp.Column) and item.is_star):
            yield Refusal("SELECT * has no meaning here", offset_of(item),
                          "name group columns and aggregates")  # fmt: skip


RULES: tuple[Rule, ...] = (
    _with, _several_streams, _other_clauses, _stream_clauses, _groupings,
    _overs, _subqueries, _parameters, _stars,
)  # fmt: skip


def _tables(select: exp.Select) -> list[exp.Expr]:
    """What FROM names, within its parentheses; not what an inner SELECT reads."""
    clause = select.args.get("from_")
    found: list[exp.Expr] = []
    node = clause.this if clause is not None else None
    while isinstance(node, (exp.Table, exp.Subquery)):
        found.append(node)
        node = node.this
    return found


def _in_expressions(
    select: exp.Select, kind: type[exp.Expr] | tuple[type[exp.Expr], ...]
) -> Iterator[exp.Expr]:
    """Nodes of a kind in all that a SELECT computes, but not in what it reads."""
    clauses = [select.args.get(name) for name in ("where", "group", "having")]
    for node in (*select.expressions, *clauses):
        if node is not None:
            yield from node.find_all(*(kind if isinstance(kind, tuple) else (kind,)))

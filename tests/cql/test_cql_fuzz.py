"""Broken queries: whatever a user writes, the answer is a plan or an error for people."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.cql import arrow_schema, compile_query
from slackwater.cql.windows import tokens
from slackwater.errors import QueryError
from slackwater.hosts.replay import Expressions
from slackwater.plan.stages import Plan

STREAMS = {
    "S": arrow_schema(
        "ts timestamp, sensor string, v double, n int, `my col` int, st struct<x:int>, l array<int>"
    ),
    "T": arrow_schema("t bigint, k string"),
}
TYPER = Expressions().types

QUERIES = (
    "SELECT sensor, SUM(v) AS s FROM S [RANGE 60 seconds, SLIDE 1 second, WATTR ts, SLACK 5 s] "
    "WHERE v > 0 AND sensor LIKE 'a%' GROUP BY sensor HAVING s > 10",
    "SELECT FIRST(v) IGNORE NULLS AS f, COUNT(*) FILTER (WHERE n > 1) AS g\n"
    "FROM S Window[Range=30 Second, Slide=10 Second, Slack 1 min]",
    "SELECT MAX(`my col`) * 2 AS m, upper(sensor) AS u -- a comment\nFROM S [RANGE 10 s, SLIDE "
    "5 s, SLACK INTERVAL '5' SECONDS, MAX FUTURE 1 hour] GROUP BY u, st.x",
    "SELECT MAX(q.c) AS m FROM (SELECT COUNT(*) AS c, l[0] AS k FROM S [RANGE 10 s, SLIDE 5 s, "
    "SLACK 1 s] GROUP BY l[0]) AS q [RANGE 1 min, SLIDE 1 min] WHERE q.c > 1",
    "SELECT AVG(t) AS m FROM T WHERE k <> '' WINDOW [RANGE=50, SLIDE=25, WATTR=t, SLACK=0].",
    "SELECT CASE WHEN COUNT(*) > 1 THEN ARG_MAX(v, n) END AS c FROM S WINDOW 10 minutes",
)
STRAY = (
    *"()[]{},.;:*/+-=<>'\"`?!@#$%^&|~\\ \n\t0", "SELECT", "FROM", "WHERE", "GROUP BY", "HAVING",
    "JOIN", "UNION", "WITH", "OVER", "DISTINCT", "WINDOW", "RANGE", "SLIDE", "SLACK", "WATTR",
    "ORDER BY", "LIMIT", "AS", "IN", "EXISTS", "CASE", "WHEN", "END", "NULL", "INTERVAL", "-1",
    "1e9", "99999999999999999999", "'x'", "S", "T", "ts", "v", "sensor", "COUNT(*)", "SUM(", "é",
    "ROLLUP(", "PIVOT", "VALUES", "LATERAL VIEW", "->", "::", "/*", "--", "tuples", "window",
    "FILTER (WHERE", "IGNORE NULLS", "\x00", "\u2028", "😀",
)  # fmt: skip


def answer(query: str) -> Plan | QueryError:
    """What the compiler says; any other exception escapes and fails the test."""
    try:
        return compile_query(query, STREAMS, TYPER)
    except QueryError as error:
        return error


def assert_readable(found: Plan | QueryError, query: str) -> None:
    if isinstance(found, Plan):
        assert found.result_schema.names[0] == "window"
        return
    shown = str(found).split("\n")
    assert 0 <= found.offset <= len(query)
    assert found.message
    assert "sqlglot" not in str(found).replace(query, "")
    assert shown[0].startswith(f"line {found.line}, column {found.column}: ")
    assert "^" in shown[2]


@st.composite
def broken(draw: st.DrawFn) -> str:
    """A good query with a few of its words taken out, doubled, swapped or replaced."""
    words = [token.text for token in tokens(draw(st.sampled_from(QUERIES)))]
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, max(len(words) - 1, 0)))
        other = draw(st.integers(0, max(len(words) - 1, 0)))
        action = draw(st.sampled_from(("drop", "double", "swap", "insert", "replace", "cut")))
        if action == "insert" or not words:
            words.insert(at, draw(st.sampled_from(STRAY)))
        elif action == "drop":
            words.pop(at)
        elif action == "double":
            words.insert(at, words[at])
        elif action == "swap":
            words[at], words[other] = words[other], words[at]
        elif action == "replace":
            words[at] = draw(st.sampled_from(STRAY))
        else:
            words = words[: at + 1]
    return draw(st.sampled_from((" ", "\n"))).join(words)


@given(broken())
@settings(max_examples=1500)
def test_broken_queries(query: str) -> None:
    """A query with words out of place gives a plan or a query error that shows its place."""
    assert_readable(answer(query), query)


@given(st.sampled_from(QUERIES), st.integers(0, 300), st.text(max_size=3))
@settings(max_examples=100)
def test_stray_characters(query: str, at: int, stray: str) -> None:
    """Any characters anywhere in a query give a plan or a query error."""
    text = query[:at] + stray + query[at:]
    assert_readable(answer(text), text)


@given(st.sampled_from(QUERIES), st.integers(0, 300))
@settings(max_examples=100)
def test_cut_queries(query: str, at: int) -> None:
    """A query that ends too early gives a query error, or a plan where the rest is not needed."""
    text = query[:at] + "\n"
    assert_readable(answer(text), text)


def test_the_queries_themselves_are_good() -> None:
    """What is broken here is good before, but for the window that slides on every tuple."""
    assert all(isinstance(answer(query), Plan) for query in QUERIES[:-1])

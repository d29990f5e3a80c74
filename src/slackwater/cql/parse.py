"""From text to one SELECT, or to an error in words that name no parser."""

from __future__ import annotations

import re
from itertools import pairwise

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from slackwater.cql.positions import keyword, unclosed
from slackwater.cql.windows import tokens
from slackwater.errors import QueryError

_EXAMPLE = "SELECT sensor, SUM(v) AS v FROM S [RANGE 60 seconds, SLIDE 1 second] GROUP BY sensor"
_MISSING = re.compile(r"Required keyword: '\w+' missing for <class '[\w.]*\.(\w+)'>")


def parse(query: str, text: str) -> exp.Select:
    """The SELECT in ``text``, which is the query with its window clauses blanked out."""
    opened = unclosed(text)
    if opened >= 0:
        mark = text[opened : opened + 2] if text[opened] == "/" else text[opened]
        raise QueryError(f"cannot read this query: {mark} is never closed", query, opened)
    _refuse_window_function(query, text)
    try:
        parsed = sqlglot.parse(text, dialect="spark")
    except ParseError as error:
        raise _unreadable(query, error) from None
    except TokenError:
        raise QueryError("cannot read this query: it is not SQL", query, 0, _EXAMPLE) from None
    statements = [statement for statement in parsed if statement is not None]
    if not statements:
        raise QueryError("there is no query", query, 0, _EXAMPLE)
    if len(statements) > 1:
        offset = text.find(";")
        raise QueryError("a query is one SELECT, not several", query, offset, "run each by itself")
    return _select(query, statements[0])


def _refuse_window_function(query: str, text: str) -> None:
    """Spark's own way to write windows, which SQL parsers take for the WINDOW clause."""
    found = tokens(text)
    for token, following in pairwise(found):
        if token.upper in ("WINDOW", "SESSION_WINDOW") and following.text == "(":
            raise QueryError(
                f"{token.text}(…) is not how windows are written here", query, token.start,
                "write it after the stream's name: FROM S [RANGE 10 minutes, SLIDE 5 minutes, "
                "WATTR ts, SLACK 1 minute]; every result says its window",
            )  # fmt: skip


def _select(query: str, statement: exp.Expr) -> exp.Select:
    while isinstance(statement, exp.Subquery) and not statement.alias:
        statement = statement.this
    if isinstance(statement, exp.Select):
        return statement
    if isinstance(statement, exp.SetOperation):
        word = type(statement).__name__.upper()
        raise QueryError(
            f"a query is one SELECT, not a {word}", query, keyword(query, word, len(query)),
            "run one query for each SELECT, and unite their results",
        )  # fmt: skip
    raise QueryError("a query is one SELECT", query, 0, _EXAMPLE)


def _unreadable(query: str, error: ParseError) -> QueryError:
    detail = error.errors[0]
    before = sum(len(line) + 1 for line in query.split("\n")[: detail["line"] - 1])
    offset = before + detail["col"] - len(detail["highlight"] or "")
    offset = min(max(offset, 0), len(query))
    reason = detail["description"].split(" but got <")[0].rstrip(".")
    missing = _MISSING.match(reason)
    hint = ""
    if missing:
        if missing.group(1) == "Window":
            hint = "every result says its window: leave it out of GROUP BY"
        reason = f"something is missing after {missing.group(1).upper()}"
    elif reason == "Invalid expression / Unexpected token":
        found = (detail["highlight"] or "").strip()
        reason = f"{found!r} is not expected here" if found else "something is missing here"
    return QueryError(f"cannot read this query: {reason}", query, offset, hint)

"""Where things stand in the text of a query, as far as its tokens tell."""

from __future__ import annotations

import re

from sqlglot import exp

from slackwater.cql.windows import tokens

_CALL = re.compile(r"\w+\s*\(\s*$")


def offset_of(node: exp.Expr) -> int:
    """Where an expression begins in the query; 0 where its tokens do not say."""
    starts = [n.meta["start"] for n in node.walk() if "start" in n.meta]
    return min(starts, default=0)


def start_of(query: str, node: exp.Expr) -> int:
    """Where a call begins: some nodes know only where their first argument stands."""
    offset = offset_of(node)
    if isinstance(node, exp.Func) and "start" not in node.meta:
        before = _CALL.search(query[:offset])
        return before.start() if before else offset
    return offset


def keyword(query: str, word: str, near: int) -> int:
    """Where a keyword stands: the last one up to a place, or else that place.

    >>> keyword("SELECT a FROM S ORDER BY a", "ORDER", 25)
    16
    """
    places = [token.start for token in tokens(query) if token.upper == word]
    return max((place for place in places if place <= near), default=near)


def paren_around(query: str, offset: int) -> int:
    """Where the parenthesis around a place opens, or -1.

    >>> paren_around("SELECT ')(' FROM (S)", 18), paren_around("SELECT (1) FROM S", 16)
    (17, -1)
    """
    opened = [-1]
    for token in tokens(query):
        if token.start >= offset:
            break
        if token.text == "(":
            opened.append(token.start)
        elif token.text == ")" and len(opened) > 1:
            opened.pop()
    return opened[-1]


def unclosed(query: str) -> int:
    """Where a quote or comment opens that is never closed, or -1.

    >>> unclosed("SELECT 'it")
    7
    """
    for token in tokens(query):
        if token.text in ("'", '"', "`") or query.startswith("/*", token.start):
            return token.start
    return -1

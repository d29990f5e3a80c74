"""The window clause, in all the ways that the papers write it.

``S [RANGE 60 seconds, SLIDE 1 second]``, ``Window[Range=30 Second, Slide=10 Second]``,
``Window [RANGE=50, SLIDE=50]`` and ``WINDOW 10 minutes``. Clauses are found in the text,
read, and blanked out with spaces, so that what is left is SQL with its positions intact.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction

from slackwater.errors import QueryError

UNITS = {
    "microsecond": Fraction(1, 1_000_000),
    "millisecond": Fraction(1, 1_000),
    "second": Fraction(1),
    "minute": Fraction(60),
    "hour": Fraction(3_600),
    "day": Fraction(86_400),
    "week": Fraction(604_800),
}
_SHORT = {
    "us": "microsecond", "ms": "millisecond", "s": "second", "sec": "second", "m": "minute",
    "min": "minute", "h": "hour", "hr": "hour", "d": "day", "w": "week",
}  # fmt: skip
_VARIABLE = ("month", "quarter", "year")
TUPLE = "tuple"
_LATER = {
    "PROD": "leave it out; results come when their window is closed",
}

_TOKEN = re.compile(
    r"(?P<space>\s+|--[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|`(?:[^`]|``)*`)"
    r"|(?P<number>\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<word>[A-Za-z_]\w*)"
    r"|(?P<sign>.)",
    re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    start: int

    @property
    def upper(self) -> str:
        return self.text.upper()


@dataclass(frozen=True)
class Quantity:
    """A number with a unit, or without; ``seconds`` is set where there is a unit of time.

    Windows may also be counted: then the unit is the tuple.
    """

    number: Fraction
    unit: str
    offset: int

    @property
    def seconds(self) -> Fraction | None:
        return self.number * UNITS[self.unit] if self.unit in UNITS else None

    @property
    def counted(self) -> bool:
        return self.unit == TUPLE


@dataclass
class WindowClause:
    """One clause as written, not yet tied to a stream or its types."""

    offset: int
    depth_start: int
    range: Quantity | None = None
    slide: Quantity | None = None
    slack: Quantity | None = None
    max_future: Quantity | None = None
    wattr: Token | None = None
    arrival: Token | None = None
    dratio: Quantity | None = None
    estimator: Token | None = None
    revise: Quantity | None = None
    partition: list[Token] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


def tokens(query: str) -> list[Token]:
    found = (Token(str(m.lastgroup), m.group(), m.start()) for m in _TOKEN.finditer(query))
    return [token for token in found if token.kind != "space"]


def take_window_clauses(query: str) -> tuple[str, list[WindowClause]]:
    """The query with its window clauses blanked out, and the clauses.

    >>> text, (clause,) = take_window_clauses("SELECT MAX(v) FROM S [RANGE 30 seconds]")
    >>> text
    'SELECT MAX(v) FROM S                   '
    >>> clause.range.seconds
    Fraction(30, 1)
    """
    reader = _Reader(query, tokens(query))
    clauses = []
    text = list(query)
    open_parens: list[int] = [-1]
    while not reader.done:
        start = reader.current.start
        clause = reader.clause(open_parens[-1])
        if clause is not None:
            clauses.append(clause)
            end = reader.previous.start + len(reader.previous.text)
            text[start:end] = [c if c == "\n" else " " for c in text[start:end]]
            continue
        sign = reader.take().text
        if sign == "(":
            open_parens.append(start)
        elif sign == ")" and len(open_parens) > 1:
            open_parens.pop()
    return re.sub(r"[;.](\s*)$", r" \1", "".join(text)), clauses


class _Reader:
    def __init__(self, query: str, all_tokens: list[Token]) -> None:
        self.query, self.all, self.at = query, all_tokens, 0

    @property
    def done(self) -> bool:
        return self.at >= len(self.all)

    @property
    def current(self) -> Token:
        return self.peek(0)

    @property
    def previous(self) -> Token:
        return self.all[self.at - 1]

    def peek(self, ahead: int) -> Token:
        at = self.at + ahead
        return self.all[at] if 0 <= at < len(self.all) else Token("end", "", len(self.query))

    def take(self) -> Token:
        self.at += 1
        return self.all[self.at - 1]

    def error(self, message: str, token: Token, hint: str = "") -> QueryError:
        return QueryError(message, self.query, min(token.start, len(self.query)), hint)

    def clause(self, paren: int) -> WindowClause | None:
        """A window clause that starts here, or None."""
        token, following = self.current, self.peek(1)
        if token.text == "[" and self._is_clause(following):
            return self._bracketed(paren)
        if token.upper != "WINDOW":
            return None
        if following.text == "[":
            self.take()
            return self._bracketed(paren)
        if following.kind == "number":
            self.take()
            return WindowClause(token.start, paren, range=self.quantity("WINDOW"))
        return None

    def _is_clause(self, first: Token) -> bool:
        """Whether a bracket opens a window clause; elsewhere it is an index into an array."""
        if self.peek(-2).upper == "FROM":
            return True
        return first.upper in _ITEMS | _LATER.keys() and self.peek(2).text not in ("]", "[", ".")

    def _bracketed(self, paren: int) -> WindowClause:
        clause = WindowClause(self.take().start, paren)
        while True:
            self._item(clause)
            separator = self.current
            if separator.text == "]":
                self.take()
                return clause
            if separator.kind == "end":
                raise self.error("the window clause is not closed", separator, "end it with ]")
            if separator.text != ",":
                raise self.error(
                    f"expected ',' or ']' in the window clause, not {separator.text!r}",
                    separator,
                    "items are separated by commas: [RANGE 60 seconds, SLIDE 1 second]",
                )
            self.take()

    def _item(self, clause: WindowClause) -> None:
        name = self.current
        item = name.upper
        if item in _LATER:
            raise self.error(f"{item} is not available yet", name, _LATER[item])
        if name.text in ("]", ",", ""):
            raise self.error(
                "an item is missing in the window clause", name,
                "for example [RANGE 60 seconds, SLIDE 1 second]",
            )  # fmt: skip
        if item not in _ITEMS:
            raise self.error(
                f"unknown item {name.text!r} in the window clause", name, f"known: {KNOWN_ITEMS}"
            )
        if item in clause.seen:
            raise self.error(f"{item} is given twice", name, "keep one of them")
        clause.seen.add(item)
        self.take()
        if item in _SECOND_WORDS:
            self._expect(_SECOND_WORDS[item], item)
        if self.current.text == "=":
            self.take()
        getattr(self, _ITEMS[item])(clause, item)

    def _length(self, clause: WindowClause, item: str) -> None:
        names = {"MAX": "max_future"}
        title = "MAX FUTURE" if item == "MAX" else item
        setattr(clause, names.get(item, item.lower()), self.quantity(title))

    def _rows(self, clause: WindowClause, item: str) -> None:
        """``ROWS 100``, as CQL writes it: the same as RANGE 100 tuples."""
        if clause.range is not None:
            raise self.error("RANGE and ROWS are two names of one thing", self.previous, "keep one")
        clause.seen.add("RANGE")
        given = self.quantity(item)
        clause.range = Quantity(given.number, TUPLE, given.offset)

    def _column(self, clause: WindowClause, item: str) -> None:
        setattr(clause, item.lower(), self._name(item, "ts"))

    def _columns(self, clause: WindowClause, item: str) -> None:
        clause.partition.append(self._name("PARTITION BY", "sensor"))
        while self.current.text == "," and self.peek(1).upper not in _ITEMS.keys() | _LATER.keys():
            self.take()
            clause.partition.append(self._name("PARTITION BY", "sensor"))

    def _name(self, item: str, example: str) -> Token:
        token = self.current
        if token.kind != "word" and not token.text.startswith("`"):
            raise self.error(f"{item} needs the name of a column", token, f"{item} {example}")
        return self.take()

    def _share(self, clause: WindowClause, item: str) -> None:
        """A percentage; a bare number could mean either 1 or 100 percent, so it is refused."""
        if self.current.kind != "number":
            raise self.error(f"{item} needs a percentage", self.current, f"{item} 1%")
        number = self.quantity(item)
        if self.current.text != "%" and self.current.upper != "PERCENT":
            raise self.error(f"{item} needs a percentage", self.current, f"{item} 1%")
        self.take()
        if not 0 <= number.number < 100:
            raise QueryError(f"{item} is a share from 0% to below 100%", self.query, number.offset,
                             "DRATIO 1% lets one tuple in a hundred be lost")  # fmt: skip
        clause.dratio = Quantity(number.number / 100, "", number.offset)

    def _method(self, clause: WindowClause, item: str) -> None:
        """A name of one or more words with hyphens between them."""
        first = self.current
        if first.kind != "word":
            raise self.error("ESTIMATOR needs a name", first, "ESTIMATOR quantile")
        text = self.take().text
        while self.current.text == "-" and self.peek(1).kind == "word":
            self.take()
            text += f"-{self.take().text}"
        clause.estimator = Token("word", text.lower(), first.start)

    def _expect(self, word: str, after: str) -> None:
        if self.current.upper != word:
            raise self.error(f"expected {word} after {after}", self.current)
        self.take()

    def quantity(self, item: str) -> Quantity:
        """``60 seconds``, ``10min``, ``50``, ``INTERVAL '5' SECONDS``."""
        if self.current.upper == "INTERVAL":
            self.take()
        sign, token = 1, self.current
        if token.text in ("-", "+"):
            sign = -1 if self.take().text == "-" else 1
        number = self.current
        digits = number.text.strip("'\"")
        if number.kind not in ("number", "text") or not re.fullmatch(r"\d*\.?\d+", digits):
            raise self.error(f"{item} needs a number", number, f"{item} 60 seconds, or {item} 60")
        self.take()
        unit = ""
        if self.current.kind == "word":
            unit = self._unit(item)
        return Quantity(sign * Fraction(digits), unit, token.start)

    def _unit(self, item: str) -> str:
        token = self.current
        word = token.text.lower()
        name = _SHORT.get(word) or _SHORT.get(word.rstrip("s")) or word.removesuffix("s")
        if name in _VARIABLE:
            raise self.error(
                f"a {name} has no fixed length", token, "use days: 30 days, or 365 days"
            )
        if name in (TUPLE, "row"):
            return self._tuples(item)
        if name not in UNITS and token.upper in _ITEMS.keys() | _LATER.keys():
            raise self.error(f"a comma is missing before {token.text}", token, "RANGE 10, SLIDE 5")
        if name not in UNITS:
            if item == "WINDOW":
                return ""  # the next clause of the query
            raise self.error(f"unknown unit {token.text!r}", token, f"known: {', '.join(UNITS)}")
        self.take()
        return name

    def _tuples(self, item: str) -> str:
        if item not in ("RANGE", "WINDOW", "ROWS"):
            raise self.error(
                f"{item} cannot be counted in tuples", self.current,
                "a window of so many tuples slides on every tuple: [RANGE 100 tuples]",
            )  # fmt: skip
        self.take()
        return TUPLE


_ITEMS = {
    "RANGE": "_length", "SLIDE": "_length", "SLACK": "_length", "MAX": "_length",
    "REVISE": "_length", "ROWS": "_rows", "WATTR": "_column", "ARRIVAL": "_column",
    "PARTITION": "_columns", "DRATIO": "_share", "ESTIMATOR": "_method",
}  # fmt: skip
_SECOND_WORDS = {"MAX": "FUTURE", "REVISE": "WITHIN", "PARTITION": "BY"}
KNOWN_ITEMS = ", ".join(sorted(f"{n} {_SECOND_WORDS.get(n, '')}".strip() for n in _ITEMS))

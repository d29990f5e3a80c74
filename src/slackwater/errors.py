"""Errors for people: what is wrong, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


class SlackwaterError(Exception):
    """Anything that Slackwater refuses or cannot do."""


@dataclass
class QueryError(SlackwaterError):
    """A query that cannot be run, found before anything starts.

    >>> print(QueryError("unknown column 'vol'", "SELECT SUM(vol) FROM S", 11, "did you mean 'v'?"))
    line 1, column 12: unknown column 'vol'
      SELECT SUM(vol) FROM S
                 ^
    hint: did you mean 'v'?
    """

    message: str
    query: str
    offset: int = 0
    hint: str = ""

    def __post_init__(self) -> None:
        super().__init__(self.message)

    @property
    def line(self) -> int:
        return self.query.count("\n", 0, self.offset) + 1

    @property
    def column(self) -> int:
        return self.offset - (self.query.rfind("\n", 0, self.offset) + 1) + 1

    def __str__(self) -> str:
        text = self.query.split("\n")[self.line - 1].rstrip("\r")
        lead = "".join("\t" if c == "\t" else " " for c in text[: self.column - 1])
        lines = [f"line {self.line}, column {self.column}: {self.message}"]
        lines += [f"  {text}", f"  {lead}^"]
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[type[QueryError], tuple[str, str, int, str]]:
        return QueryError, (self.message, self.query, self.offset, self.hint)


class JobError(SlackwaterError):
    """A job file, a transcript or a setting that makes no sense."""

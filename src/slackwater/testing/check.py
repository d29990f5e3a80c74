"""Running a transcript on a host, and the difference where it does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa

from slackwater.core.elements import Predicate
from slackwater.errors import QueryError
from slackwater.testing.transcript import Step, Transcript, predicates
from slackwater.testing.values import plain, same, typed_array

Row = dict[str, Any]


class Steps(Protocol):
    """A query running on some host, fed one micro-batch at a time."""

    schema: pa.Schema
    wattr: str

    def input(self, page: pa.Table) -> pa.Table: ...
    def punctuate(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table: ...
    def prod(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table: ...
    def close(self) -> None: ...


class TranscriptError(AssertionError):
    """A transcript that does not hold, with a readable difference."""


def check(transcript: Transcript, start: Callable[[Transcript], Steps]) -> None:
    """Run a transcript; raises ``TranscriptError`` where what comes out is not what is expected."""
    if transcript.error is not None:
        _check_error(transcript, start)
        return
    steps = start(transcript)
    try:
        pending: list[Row] = []
        last = 0
        for step in transcript.steps:
            last = step.number
            if step.kind == "expect":
                _compare(transcript, step, steps, pending)
                pending = []
            else:
                pending += _rows(_tried(transcript, step, steps))
        if pending:
            raise TranscriptError(_message(transcript, f"after step {last}", [], pending))
    finally:
        steps.close()


def _tried(transcript: Transcript, step: Step, steps: Steps) -> pa.Table:
    try:
        return _run(transcript, step, steps)
    except (ValueError, TypeError) as error:  # Arrow's errors are of these
        raise TranscriptError(
            f"{transcript.name}, step {step.number}: this {step.kind} does not fit the stream's "
            f"columns: {str(error).splitlines()[0]}"
        ) from None


def _run(transcript: Transcript, step: Step, steps: Steps) -> pa.Table:
    stream, value = next(iter(step.value.items()))
    if stream not in transcript.streams:
        raise TranscriptError(
            f"{transcript.name}, step {step.number}: there is no stream {stream!r}"
        )
    if step.kind == "input":
        return steps.input(transcript.page(stream, value))
    if step.kind == "heartbeat":
        return steps.punctuate(Predicate.below(value), {})
    time, groups = predicates(value, steps.wattr)
    return steps.punctuate(time, groups) if step.kind == "punctuation" else steps.prod(time, groups)


def _rows(table: pa.Table) -> list[Row]:
    rows = [plain(row) for row in table.to_pylist()]
    for row in rows:
        row["window"] = [row["window"]["start"], row["window"]["end"]]
    return rows


def _compare(transcript: Transcript, step: Step, steps: Steps, found: list[Row]) -> None:
    expected = [_typed(transcript, step, steps.schema, row) for row in step.value]
    place = f"step {step.number}"
    if transcript.ordered:
        matches = len(expected) == len(found) and all(map(_match, expected, found))
        if not matches:
            raise TranscriptError(_message(transcript, f"{place} (in this order)", expected, found))
        return
    missing, unexpected = _difference(expected, found)
    if missing or unexpected:
        raise TranscriptError(_message(transcript, place, missing, unexpected))


def _typed(transcript: Transcript, step: Step, schema: pa.Schema, row: Row) -> Row:
    """An expected row in the types of the result; columns must be known, and none forgotten."""
    where = f"{transcript.name}, step {step.number}"
    names = [name for name in schema.names if name != "tuples"]
    for name in row:
        if name not in schema.names:
            raise TranscriptError(
                f"{where}: the result has no column {name!r}; it has {', '.join(names)}"
            )
    row = {"kind": "final", **row}
    for name in names:
        if name not in row:
            raise TranscriptError(
                f"{where}: the expected row {_show(row)} says nothing of {name!r}"
            )
    bound = schema.field("window").type.field("start").type
    typed: Row = {}
    for name, value in row.items():
        type_ = bound if name == "window" else schema.field(name).type
        values = value if name == "window" else [value]
        column = [plain(v) for v in typed_array(values, type_).to_pylist()]
        typed[name] = column if name == "window" else column[0]
    return typed


def _difference(expected: Sequence[Row], found: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    rest = list(found)
    missing = []
    for row in expected:
        hit = next((i for i, other in enumerate(rest) if _match(row, other)), None)
        if hit is None:
            missing.append(row)
        else:
            rest.pop(hit)
    return missing, rest


def _match(expected: Row, found: Row) -> bool:
    return all(same(value, found[name]) for name, value in expected.items())


def _message(
    transcript: Transcript, place: str, missing: Sequence[Row], unexpected: Sequence[Row]
) -> str:
    lines = [f"{transcript.name}, {place}:"]
    lines += [f"  - expected, did not come: {_show(row)}" for row in missing]
    lines += [f"  + came, not expected:     {_show(row)}" for row in unexpected]
    return "\n".join(lines)


def _show(row: Row) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in row.items()) + "}"


def _check_error(transcript: Transcript, start: Callable[[Transcript], Steps]) -> None:
    wanted = transcript.error or {}
    try:
        start(transcript).close()
    except QueryError as error:
        found = {"line": error.line, "column": error.column, "message": error.message}
        for name, value in wanted.items():
            hit = value in error.hint if name == "hint" else _error_part(found, name, value)
            if not hit:
                raise TranscriptError(
                    f"{transcript.name}: wanted {name} {value!r}, got\n{error}"
                ) from None
        return
    raise TranscriptError(
        f"{transcript.name}: the query was accepted, and should be refused: {wanted}"
    )


def _error_part(found: dict[str, Any], name: str, value: Any) -> bool:
    return value in found["message"] if name == "message" else bool(found.get(name) == value)

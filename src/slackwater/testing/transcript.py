"""Reading transcripts: YAML documents of a query, its streams, and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from slackwater.core.elements import Predicate
from slackwater.cql.types import arrow_schema
from slackwater.errors import JobError
from slackwater.testing.values import typed_array

STEPS = ("input", "heartbeat", "punctuation", "prod", "expect")
_KEYS = {"name", "query", "streams", "heartbeats", "steps", "ordered", "error"}


class NotOnThisHostError(JobError):
    """A transcript that asks for more than this host has."""


@dataclass(frozen=True)
class Step:
    """One step: its kind, its value, and its number for messages."""

    kind: str
    value: Any
    number: int


@dataclass(frozen=True)
class Transcript:
    """A query with what goes in and what must come out; or with the error it must give."""

    name: str
    query: str
    streams: Mapping[str, pa.Schema]
    external: bool
    ordered: bool
    steps: tuple[Step, ...]
    error: Mapping[str, Any] | None = None

    def page(self, stream: str, rows: list[Any]) -> pa.Table:
        """Input rows, as lists in the order of columns or as mappings, as a table."""
        schema = self.streams[stream]
        records = [row if isinstance(row, dict) else dict(zip(schema.names, row, strict=True))
                   for row in rows]  # fmt: skip
        columns = [typed_array([r.get(f.name) for r in records], f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def load(path: str | Path) -> list[Transcript]:
    """All transcripts of a file."""
    path = Path(path)
    try:
        documents = list(yaml.safe_load_all(path.read_text()))
    except FileNotFoundError:
        raise JobError(f"there is no file {path}") from None
    except yaml.YAMLError as error:
        raise JobError(f"{path} is not YAML: {error}") from None
    found = [d for d in documents if d is not None]
    if not found:
        raise JobError(f"{path} holds no transcript")
    return [_transcript(path, number, d) for number, d in enumerate(found, 1)]


def _transcript(path: Path, number: int, document: Any) -> Transcript:
    where = f"{path}, transcript {number}"
    if not isinstance(document, dict):
        raise JobError(f"{where}: expected a mapping with query, streams and steps")
    unknown = set(document) - _KEYS
    if unknown:
        raise JobError(f"{where}: unknown key {min(unknown)!r}; known: {', '.join(sorted(_KEYS))}")
    for key in ("query", "streams"):
        if key not in document:
            raise JobError(f"{where}: {key!r} is missing")
    if ("steps" in document) == ("error" in document):
        raise JobError(f"{where}: give either 'steps' or the 'error' that must come")
    heartbeats = document.get("heartbeats")
    if heartbeats not in (None, "external"):
        raise JobError(f"{where}: heartbeats is 'external', or left out")
    return Transcript(
        name=document.get("name", f"{path.stem} {number}"),
        query=document["query"].strip(),
        streams={name: arrow_schema(ddl) for name, ddl in document["streams"].items()},
        external=heartbeats == "external",
        ordered=bool(document.get("ordered", False)),
        steps=tuple(_step(where, at, step) for at, step in enumerate(document.get("steps", ()), 1)),
        error=document.get("error"),
    )


def _step(where: str, number: int, step: Any) -> Step:
    if not isinstance(step, dict) or len(step) != 1 or next(iter(step)) not in STEPS:
        raise JobError(f"{where}, step {number}: a step is one of {', '.join(STEPS)}")
    kind, value = next(iter(step.items()))
    if kind == "expect" and not isinstance(value, list):
        raise JobError(f"{where}, step {number}: expect needs a list of rows")
    if kind != "expect" and (not isinstance(value, dict) or len(value) != 1):
        raise JobError(f"{where}, step {number}: {kind} names one stream: {{S: …}}")
    return Step(kind, value, number)


def predicates(value: Any, wattr: str) -> tuple[Predicate, dict[str, Predicate]]:
    """A punctuation or prod as written: ``50``, or ``{t: "<= 50", sensor: 7}`` by column."""
    if not isinstance(value, dict):
        return Predicate.at_most(value), {}
    parts = {name: predicate(each) for name, each in value.items() if name != "where"}
    groups = {name: predicate(each) for name, each in value.get("where", {}).items()}
    time = parts.pop(wattr, Predicate())
    return time, parts | groups


def predicate(value: Any) -> Predicate:
    """``7``, ``"<= 50"``, ``"< 50"``, ``[10, 20]`` (from 10 to below 20), ``"*"``."""
    if value == "*":
        return Predicate()
    if isinstance(value, list):
        return Predicate.between(*value)
    if isinstance(value, str) and value.startswith("<"):
        closed = value.startswith("<=")
        bound = yaml.safe_load(value.lstrip("<= "))
        return Predicate.at_most(bound) if closed else Predicate.below(bound)
    return Predicate.equals(value)

"""Envelopes: how elements travel between stages. One row per task, shard and kind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any, NamedTuple

import pyarrow as pa

from slackwater.core.elements import Predicate, Prod, Punctuation
from slackwater.core.intervals import Bound, IntervalSet
from slackwater.core.time import TimeDomain


class Kind(IntEnum):
    """In the order in which a shard handles them within a micro-batch."""

    PAGE = 0
    SUMMARY = 1
    LATE = 2
    PROD = 3
    PUNCTUATION = 4
    TICK = 5


class Envelope(NamedTuple):
    shard: int
    kind: int
    payload: bytes


def page_payload(page: pa.RecordBatch) -> bytes:
    """Arrow IPC without the schema: both ends know it from the plan."""
    return page.serialize().to_pybytes()


def read_page(payload: bytes, schema: pa.Schema) -> pa.RecordBatch:
    return pa.ipc.read_record_batch(pa.py_buffer(payload), schema)


def to_every_shard(kind: Kind, payload: bytes, shards: int) -> Iterable[Envelope]:
    return (Envelope(shard, kind, payload) for shard in range(shards))


def element_payload(element: Punctuation | Prod) -> tuple[Kind, bytes]:
    """A punctuation or prod on its way to another stage, its time in ticks."""
    parts: dict[str, Any] = {"ticks": element.time.to_json(), "groups": _groups(element.groups)}
    if isinstance(element, Punctuation):
        return Kind.PUNCTUATION, _json(parts)
    return Kind.PROD, _json(parts | {"id": element.id, "asked_at": element.asked_at})


def written_payload(time: Predicate, groups: Mapping[str, Predicate]) -> bytes:
    """A punctuation or prod as a user wrote it."""
    return _json({"time": time.to_json(), "groups": _groups(groups)})


def tick_payload(now: Any) -> bytes:
    """A moment on the clock of a stream's arrivals, as a user wrote it."""
    return _json({"now": now})


def read_tick(payload: bytes, domain: TimeDomain) -> Bound:
    return domain.bound(json.loads(payload)["now"])


def read_element(kind: int, payload: bytes, domain: TimeDomain) -> Punctuation | Prod:
    """The element in a payload; what a user wrote is turned into ticks of the domain."""
    parts = json.loads(payload)
    if "ticks" in parts:
        time = IntervalSet.from_json(parts["ticks"])
    else:
        time = Predicate.from_json(parts["time"]).interval(domain)
    groups = {name: Predicate.from_json(p) for name, p in parts["groups"].items()}
    if kind == Kind.PUNCTUATION:
        return Punctuation(time, groups)
    return Prod(time, groups, parts.get("id", ""), parts.get("asked_at", ""))


def _groups(groups: Mapping[str, Predicate]) -> dict[str, Any]:
    return {name: p.to_json() for name, p in groups.items() if not p.is_any}


def _json(parts: dict[str, Any]) -> bytes:
    return json.dumps(parts, default=str, sort_keys=True).encode()

"""What a map task tells every shard about its part of a micro-batch."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any

from slackwater.core.disorder.batch import Moments
from slackwater.core.disorder.spread import Spread
from slackwater.core.intervals import Bound


@dataclass(frozen=True)
class Watch:
    """What a map task has to look at, besides counts and the largest tick.

    ``panes`` serves MAX FUTURE without an arrival time; ``spread`` serves estimators.
    ``max_future`` is set where arrival times tell what is too far ahead.
    """

    panes: bool = False
    spread: bool = False
    max_future: Bound | None = None


@dataclass(frozen=True)
class Summary:
    """Counts and progress of the tuples that one task saw.

    ``panes`` holds pane, number of tuples, largest tick; ``spreads`` and ``delays`` have
    one entry a page; ``arrival`` is the latest arrival.
    """

    tuples: int = 0
    filtered: int = 0
    null: int = 0
    not_a_number: int = 0
    future: int = 0
    high: Bound | None = None
    arrival: Bound | None = None
    panes: tuple[tuple[int, int, Bound], ...] = ()
    spreads: tuple[Spread, ...] = ()
    delays: tuple[Moments, ...] = ()

    def to_bytes(self) -> bytes:
        parts: dict[str, Any] = {f.name: getattr(self, f.name) for f in fields(self)}
        parts["spreads"] = [spread.to_json() for spread in self.spreads]
        parts["delays"] = [astuple(moments) for moments in self.delays]
        return zlib.compress(json.dumps(parts).encode(), 1)

    @staticmethod
    def from_bytes(payload: bytes) -> Summary:
        parts = json.loads(zlib.decompress(payload))
        parts["panes"] = tuple(tuple(pane) for pane in parts["panes"])
        parts["spreads"] = tuple(map(Spread.from_json, parts["spreads"]))
        parts["delays"] = tuple(Moments(*each) for each in parts["delays"])
        return Summary(**parts)

    @staticmethod
    def together(summaries: Iterable[Summary]) -> Summary:
        """The summary of all tasks, the pages in the order in which they are given."""
        given = list(summaries)
        counts = {name: sum(getattr(s, name) for s in given) for name in _COUNTS}
        panes: dict[int, tuple[int, Bound]] = {}
        for pane, count, high in (row for summary in given for row in summary.panes):
            seen = panes.get(pane, (0, high))
            panes[pane] = (seen[0] + count, max(seen[1], high))
        return Summary(
            **counts,
            high=_largest([s.high for s in given]),
            arrival=_largest([s.arrival for s in given]),
            panes=tuple((pane, *panes[pane]) for pane in sorted(panes)),
            spreads=tuple(spread for s in given for spread in s.spreads),
            delays=tuple(moments for s in given for moments in s.delays),
        )


def summary_of(payloads: Iterable[bytes]) -> Summary:
    """One summary of all tasks, the same to a byte whatever the order of the payloads."""
    return Summary.together(map(Summary.from_bytes, sorted(payloads)))


def _largest(values: Sequence[Bound | None]) -> Bound | None:
    return max((value for value in values if value is not None), default=None)


_COUNTS = tuple(f.name for f in fields(Summary) if f.type == "int")

"""What a map task tells every shard about its part of a micro-batch."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields

from slackwater.core.intervals import Bound


@dataclass(frozen=True)
class Summary:
    """Counts and progress of the tuples that one task saw.

    ``panes`` is filled only under MAX FUTURE: pane, number of tuples, largest tick.
    """

    tuples: int = 0
    filtered: int = 0
    null: int = 0
    not_a_number: int = 0
    high: Bound | None = None
    panes: tuple[tuple[int, int, Bound], ...] = ()

    def to_bytes(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    @staticmethod
    def from_bytes(payload: bytes) -> Summary:
        parts = json.loads(payload)
        parts["panes"] = tuple(tuple(pane) for pane in parts["panes"])
        return Summary(**parts)

    @staticmethod
    def together(summaries: Iterable[Summary]) -> Summary:
        """The summary of all tasks; it does not depend on their order."""
        counts = dict.fromkeys(_COUNTS, 0)
        highs: list[Bound] = []
        panes: dict[int, tuple[int, Bound]] = {}
        for summary in summaries:
            for name in _COUNTS:
                counts[name] += getattr(summary, name)
            if summary.high is not None:
                highs.append(summary.high)
            for pane, count, high in summary.panes:
                seen = panes.get(pane, (0, high))
                panes[pane] = (seen[0] + count, max(seen[1], high))
        rows = tuple((pane, *panes[pane]) for pane in sorted(panes))
        return Summary(**counts, high=max(highs, default=None), panes=rows)


_COUNTS = tuple(f.name for f in fields(Summary) if f.type == "int")

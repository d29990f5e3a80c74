"""A naive twin of windows that slide on every tuple: look at every tuple for every tuple.

For tests and for clarity; the standard library only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from slackwater.core.reference.intervals import Bound
from slackwater.core.reference.windows import Group, Tuple


class RawRow(NamedTuple):
    """A result: the window that ends with a tuple, its group, its aggregates, how many tuples."""

    start: Bound
    end: Bound
    group: Group
    aggregates: tuple[Any, ...]
    tuples: int


@dataclass
class NaiveRaw:
    """Fed with micro-batches. The parts of a group in ``partition`` say who counts together."""

    range: Bound
    aggregate: Callable[[Sequence[Tuple]], tuple[Any, ...]]
    counted: bool = False
    partition: tuple[int, ...] = ()
    heartbeat: Bound = -math.inf
    waiting: list[Tuple] = field(default_factory=list)
    released: list[Tuple] = field(default_factory=list)

    def batch(
        self, tuples: Iterable[Tuple], heartbeat: Bound | None = None
    ) -> tuple[list[RawRow], list[Tuple]]:
        """The rows that the new heartbeat releases, in WATTR order, and the late tuples."""
        late: list[Tuple] = []
        for each in tuples:
            (late if _tick(each) < self.heartbeat else self.waiting).append(each)
        self.heartbeat = max(self.heartbeat, self.heartbeat if heartbeat is None else heartbeat)
        ready = sorted((t for t in self.waiting if self._passed(t)), key=_tick)
        self.waiting = [t for t in self.waiting if not self._passed(t)]
        first = len(self.released)
        self.released += ready
        return [self._row(at) for at in range(first, len(self.released))], late

    def _passed(self, each: Tuple) -> bool:
        return _tick(each) < self.heartbeat

    def _row(self, at: int) -> RawRow:
        own = self.released[at]
        window = self._counted(at) if self.counted else self._stretch(own)
        members = [each for each in window if each.group == own.group]
        start = _tick(members[0]) if self.counted else _tick(own) - self.range
        return RawRow(start, _tick(own), own.group, self.aggregate(members), len(members))

    def _counted(self, at: int) -> list[Tuple]:
        """The last RANGE tuples of the same partition, this one included."""
        own = self._partition(self.released[at])
        same = [t for t in self.released[: at + 1] if self._partition(t) == own]
        return same[-int(self.range) :]

    def _partition(self, each: Tuple) -> Group:
        return tuple(each.group[place] for place in self.partition)

    def _stretch(self, own: Tuple) -> list[Tuple]:
        """The tuples in ``(t - RANGE, t]``, those that share its time included."""
        return [t for t in self.released if _tick(own) - self.range < _tick(t) <= _tick(own)]


def _tick(each: Tuple) -> Bound:
    assert each.tick is not None
    return each.tick

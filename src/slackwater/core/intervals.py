"""Sets of half-open intervals, the arithmetic behind punctuations.

What is closed is a set of intervals on the windowing attribute; what windows that
closes is a set of intervals of window ids. Both are the same small class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Bound: TypeAlias = int | float
INFINITY = float("inf")


@dataclass(frozen=True)
class IntervalSet:
    """Disjoint intervals ``[low, high)`` in ascending order, none touching the next.

    >>> IntervalSet.of((0, 5), (5, 7), (9, 9))
    IntervalSet(intervals=((0, 7),))
    """

    intervals: tuple[tuple[Bound, Bound], ...] = ()

    @staticmethod
    def of(*intervals: tuple[Bound, Bound]) -> IntervalSet:
        return IntervalSet(tuple(_merged(intervals)))

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __iter__(self) -> Iterator[tuple[Bound, Bound]]:
        return iter(self.intervals)

    def union(self, other: IntervalSet) -> IntervalSet:
        if not other.intervals:
            return self
        return IntervalSet.of(*self.intervals, *other.intervals)

    def intersection(self, other: IntervalSet) -> IntervalSet:
        both = ((max(a, c), min(b, d)) for a, b in self.intervals for c, d in other.intervals)
        return IntervalSet.of(*(pair for pair in both if pair[0] < pair[1]))

    def minus(self, other: IntervalSet) -> IntervalSet:
        return self.intersection(other.complement()) if other.intervals else self

    def complement(self) -> IntervalSet:
        edges: list[Bound] = [-INFINITY]
        for low, high in self.intervals:
            edges += [low, high]
        edges.append(INFINITY)
        pairs = zip(edges[0::2], edges[1::2], strict=True)
        return IntervalSet(tuple((a, b) for a, b in pairs if a < b))

    def covers(self, low: Bound, high: Bound) -> bool:
        """Whether all of ``[low, high)`` lies inside."""
        if low >= high:
            return True
        at = bisect_right(self.intervals, low, key=lambda pair: pair[0]) - 1
        return at >= 0 and self.intervals[at][1] >= high

    def covers_each(
        self, lows: npt.NDArray[np.int64], highs: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """``covers`` for many intervals at once; a loop over intervals, not over elements."""
        inside = lows >= highs
        for low, high in self.intervals:
            inside |= (lows >= low) & (highs <= high)
        return inside

    @property
    def frontier(self) -> Bound:
        """The end of the interval that reaches down without bound: the heartbeat."""
        if self.intervals and self.intervals[0][0] == -INFINITY:
            return self.intervals[0][1]
        return -INFINITY

    def integers(self) -> npt.NDArray[np.int64]:
        """Every integer inside; all bounds must be finite integers."""
        parts = [np.arange(low, high, dtype=np.int64) for low, high in self.intervals]
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def to_json(self) -> list[list[Bound]]:
        return [[low, high] for low, high in self.intervals]

    @staticmethod
    def from_json(pairs: Iterable[Iterable[Bound]]) -> IntervalSet:
        return IntervalSet(tuple((low, high) for low, high in pairs))


def _merged(intervals: Iterable[tuple[Bound, Bound]]) -> Iterator[tuple[Bound, Bound]]:
    current: tuple[Bound, Bound] | None = None
    for low, high in sorted(pair for pair in intervals if pair[0] < pair[1]):
        if current is not None and low <= current[1]:
            current = (current[0], max(current[1], high))
            continue
        if current is not None:
            yield current
        current = (low, high)
    if current is not None:
        yield current


EVERYTHING = IntervalSet(((-INFINITY, INFINITY),))
NOTHING = IntervalSet()

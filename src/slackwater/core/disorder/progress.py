"""The progress of a stream: its largest WATTR, where single tuples cannot drag it along."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from slackwater.core.disorder.spread import Spread
from slackwater.core.intervals import INFINITY, Bound

Floats = npt.NDArray[np.float64]
REACH = 16.0
"""A tuple is followed if it is no further ahead than so many usual steps of the stream."""
MEMORY = 16.0
"""In tuples: how soon it is forgotten on which side of a gap the stream was."""
FIRST = 64
ENOUGH = 3.0
"""Fewer tuples beyond a gap are never taken for the whole stream."""


@dataclass
class Progress:
    """Follows the largest tick as long as it comes in steps of the usual size.

    A tuple further ahead than the reach is believed once more of the recent tuples lie
    beyond the gap than before it. Until a heartbeat has been given, the progress may still
    be taken back: ``first`` holds ticks of the first tuples, and their number at each.
    """

    reached: Bound = -INFINITY
    step: float = 0.0
    beyond: float = 0.0
    within: float = 0.0
    first: list[list[float]] = field(default_factory=list)

    def follow(self, high: Bound) -> None:
        """Believe the largest tick, whatever it is."""
        self.reached = max(self.reached, high)

    def observe(self, high: Bound, spreads: tuple[Spread, ...], slack: float, given: bool) -> None:
        """Take in a batch; ``given`` says whether a heartbeat stands already."""
        ticks, counts = _points(spreads, high)
        if not given:
            self._begin(high, ticks, counts)
            return
        self.first = []
        wait = slack if slack != INFINITY else 0.0
        self._advance(high, ticks, counts, max(self.step, wait, _body(ticks, counts)) * REACH)

    def _begin(self, high: Bound, ticks: Floats, counts: Floats) -> None:
        """Nothing is closed yet: start from the middle of all that has come."""
        if len(self.first) < FIRST:
            self.first += np.stack([ticks, counts], axis=1)[:FIRST].tolist()
        known, weights = np.array(sorted(self.first)).T
        self.step = max(_body(known, weights), _body(ticks, counts))
        reach = self.step * REACH
        before = self.reached
        self._climb(_share(known, weights, 0.5), high, np.union1d(known, ticks), reach)
        if reach == 0 or 0 < before - self.reached <= reach:
            self.reached = max(before, self.reached)

    def _advance(self, high: Bound, ticks: Floats, counts: Floats, reach: float) -> None:
        far = ticks > float(self.reached) + reach
        if self.moved_on(float(counts[far].sum()), float(counts[~far].sum())):
            start = _share(ticks[far], counts[far], 0.5)
            self._climb(start, high, ticks, reach, least=self.reached)
            return
        before = self.reached
        self._climb(float(before), high, ticks, reach, least=before)
        self.step = 0.9 * self.step + 0.1 * float(self.reached - before)

    def moved_on(self, beyond: float, within: float) -> bool:
        """Count a batch's tuples on both sides of a gap: is most of the stream beyond it now?"""
        kept = 0.5 ** ((beyond + within) / MEMORY)
        self.beyond = self.beyond * kept + beyond
        self.within = self.within * kept + within
        if not beyond or self.beyond <= max(self.within, ENOUGH - 1):
            return False
        self.beyond, self.within = 0.0, beyond
        return True

    def _climb(
        self, start: float, high: Bound, ticks: Floats, reach: float, least: Bound = -INFINITY
    ) -> None:
        """From a start follow the ticks upwards until a step is longer than the reach."""
        above = ticks[ticks > start]
        long = np.flatnonzero(np.diff(above, prepend=start) > reach) if reach > 0 else above[:0]
        reached = above[: int(long[0])] if len(long) else above
        top = float(reached[-1]) if len(reached) else start
        # the ticks are rounded, but the largest is known exactly
        self.reached = max(least, high if top == float(high) else _like(high, top))

    def state(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def restored(state: dict[str, Any]) -> Progress:
        return Progress(**state)


def _points(spreads: tuple[Spread, ...], high: Bound) -> tuple[Floats, Floats]:
    """All ticks of a batch in ascending order, about, and how many tuples are at each.

    The largest one is always among them, also where it is not in a sample.
    """
    ticks = np.concatenate([*(float(s.reference) + s.offsets for s in spreads), [float(high)]])
    counts = np.concatenate([*(s.counts for s in spreads), [0.0]])
    ticks = np.minimum(ticks, float(high))
    order = np.argsort(ticks, kind="stable")
    return ticks[order], counts[order]


def _share(ticks: Floats, counts: Floats, share: float) -> float:
    passed = np.cumsum(counts)
    return float(ticks[min(int(np.searchsorted(passed, share * passed[-1])), len(ticks) - 1)])


def _body(ticks: Floats, counts: Floats) -> float:
    """How far most of the batch stretches."""
    return _share(ticks, counts, 7 / 8) - _share(ticks, counts, 1 / 8)


def _like(tick: Bound, value: float) -> Bound:
    return int(value) if isinstance(tick, int) else value

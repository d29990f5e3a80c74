"""The default estimator: a quantile of recent lateness, corrected by what was really lost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch
from slackwater.core.disorder.sketch import LatenessSketch, bins_of

MEMORIES = (2.0, 20.0, 2_000.0)
"""Half-lives of the sketches, in tuples per permitted loss."""
HORIZON = 100.0
"""Over so many permitted losses a surplus of the budget is used up, or a debt paid back."""
RESERVE = 2.0
"""What is kept back, in standard deviations of the number of losses so far."""
JUMP = 0.4
"""Of a batch: what is lost when delays jump before they can be seen is kept back too."""
FIRST_TUPLES, FIRST_LOSSES = 32, 2.0
"""Before so many tuples nothing is closed; before so many permitted losses, with care."""
CARE = 1.25
LEAST, MOST = 1 / 20, 3.0
"""The share aimed at stays between these multiples of DRATIO."""


@dataclass
class Quantile:
    """The lateness that a share of recent tuples exceeds; the share follows the budget.

    Each tuple earns DRATIO of a permitted loss and each loss spends one. With a surplus
    the share aimed at is above DRATIO, with a debt below. The slack is a quantile of the
    longest memory that agrees with the shorter ones: long while the stream stands still,
    short after it has changed. As the budget nears its reserve, the widest of all memories
    takes over, which still knows how bad it was before.
    At first, and always with DRATIO 0%, the slack is a quarter more than the largest
    lateness.

    Needs: DRATIO
    Time: one pass over some thousand bins per batch
    Space: three sketches of up to 6,017 bins
    From: ours
    """

    name: ClassVar[str] = "quantile"
    needs_arrival: ClassVar[bool] = False
    drop_share: float
    slack: float = math.inf
    tuples: float = 0.0
    budget: float = 0.0
    span: float = 0.0
    largest_batch: float = 0.0
    sketches: list[LatenessSketch] = field(
        default_factory=lambda: [LatenessSketch() for _ in MEMORIES]
    )

    def observe(self, batch: Batch) -> None:
        if not batch.tuples:
            return
        self.tuples += batch.tuples
        self.budget += self.drop_share * batch.tuples - batch.below
        self.span += batch.advance
        self.largest_batch = max(self.largest_batch * 0.9, batch.tuples)
        bins = bins_of(batch.lateness)
        for place, sketch in enumerate(self.sketches):
            sketch.decay(0.5 ** (batch.tuples / self._half_life(place)))
            sketch.add(bins, batch.counts)
        self.slack = self._slack()

    def _half_life(self, place: int) -> float:
        """In tuples; a memory shorter than some batches would be noise."""
        by_losses = MEMORIES[place] / max(self.drop_share, 1e-9)
        return max(by_losses, self.largest_batch * 4.0**place)

    def _slack(self) -> float:
        if self.tuples < FIRST_TUPLES or not self.sketches[0].total:
            return math.inf
        if self.tuples * self.drop_share < FIRST_LOSSES:
            # what is older than the stream so far says nothing about its lateness
            return CARE * self.sketches[-1].widest(4 * self.span)
        reserve = max(
            RESERVE * math.sqrt(min(self.drop_share * self.tuples, 1_000.0)),
            JUMP * self.largest_batch,
        )
        self.budget = min(self.budget, reserve + HORIZON)
        share = self._share(reserve)
        recent = self._trusted().exceeded_by(share)
        alarm = min(max((reserve - self.budget) / reserve, 0.0), 1.0)
        if alarm == 0:
            return recent
        widest = max(sketch.exceeded_by(share) for sketch in self.sketches)
        return recent + alarm * max(widest - recent, 0.0)

    def _trusted(self) -> LatenessSketch:
        short, middle, long = self.sketches
        if not short.agrees_with(middle):
            return short
        return long if short.agrees_with(long) and middle.agrees_with(long) else middle

    def _share(self, reserve: float) -> float:
        horizon = max(HORIZON, 4 * self.drop_share * self.largest_batch)
        wanted = 1 + (self.budget - reserve) / horizon
        return self.drop_share * min(max(wanted, LEAST), MOST)

    def state(self) -> dict[str, Any]:
        sketches = [sketch.to_json() for sketch in self.sketches]
        return {name: getattr(self, name) for name in _NUMBERS} | {"sketches": sketches}

    def restore(self, state: dict[str, Any]) -> None:
        for name in _NUMBERS:
            setattr(self, name, state[name])
        self.sketches = [LatenessSketch.from_json(parts) for parts in state["sketches"]]


_NUMBERS = ("slack", "tuples", "budget", "span", "largest_batch")

"""Mean less largest distance, with an offset that DRATIO steers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch

STEP = 0.05
"""The offset moves by this share of the largest distance."""
KEPT = 0.9
"""What counts of the losses so far at the next refresh; without it the offset overshoots."""


@dataclass
class MeanDistance:
    """The mean of the WATTR less the largest distance from it, moved by an offset.

    The mean is of recent tuples: half its weight is on the last ``memory`` of them. After
    each ``refresh`` tuples the offset delays the heartbeat if more than DRATIO was lost,
    and forwards it if less was. With DRATIO 0% it never forwards.

    Needs: DRATIO; any ordered WATTR, no arrival times
    Time: constant per batch
    Space: a few numbers
    From: Kim 2010, section 4
    """

    name: ClassVar[str] = "mean-distance"
    needs_arrival: ClassVar[bool] = False
    drop_share: float
    memory: int = 30
    refresh: int = 1_000
    behind: float = 0.0
    weight: float = 0.0
    distance: float = 0.0
    offset: float = 0.0
    tuples: float = 0.0
    lost: float = 0.0
    fresh: float = 0.0
    since: float = 0.0

    def observe(self, batch: Batch) -> None:
        """The distances are those from the mean as the batch began."""
        if len(batch.lateness):
            nearest = float(batch.lateness.min())
            farthest = float(batch.lateness.max())
            ahead = batch.advance + self.behind if nearest == 0 else self.behind - nearest
            self.distance = max(self.distance, abs(ahead), abs(farthest - self.behind))
        self._move_mean(batch)
        self.tuples += batch.tuples
        self.lost += batch.below
        self.fresh += batch.below
        self.since += batch.tuples
        if self.since >= self.refresh:
            self._steer()

    def _move_mean(self, batch: Batch) -> None:
        """The mean is kept as its distance from the progress."""
        kept = self.weight * 0.5 ** (batch.tuples / self.memory)
        self.weight = kept + batch.tuples
        if self.weight:
            old = kept * (self.behind + batch.advance)
            self.behind = (old + batch.tuples * batch.behind) / self.weight

    def _steer(self) -> None:
        step = STEP * self.distance
        if self.fresh and self.lost > self.drop_share * self.tuples:
            self.offset += step
        elif self.drop_share > 0:
            self.offset -= step
        self.since = self.fresh = 0.0
        self.tuples *= KEPT
        self.lost *= KEPT

    @property
    def slack(self) -> float:
        return max(self.behind + self.distance + self.offset, 0.0)

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def restore(self, state: dict[str, Any]) -> None:
        for name in _KEPT_STATE:
            setattr(self, name, state[name])


_KEPT_STATE = ("behind", "weight", "distance", "offset", "tuples", "lost", "fresh", "since")

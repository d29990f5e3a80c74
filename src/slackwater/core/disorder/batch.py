"""What an estimator is told of a micro-batch, and what it has to offer."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from slackwater.core.intervals import Bound

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Moments:
    """Count, mean, sum of squared deviations and maximum of some numbers."""

    count: float = 0.0
    mean: float = 0.0
    squares: float = 0.0
    high: float = -math.inf

    @property
    def deviation(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0

    @staticmethod
    def of(values: Floats, counts: Floats | None = None) -> Moments:
        weights = np.ones(len(values)) if counts is None else counts
        total = float(weights.sum())
        if total == 0:
            return Moments()
        mean = float((values * weights).sum()) / total
        squares = float((weights * (values - mean) ** 2).sum())
        return Moments(total, mean, squares, float(values.max()))

    @staticmethod
    def together(parts: Iterable[Moments]) -> Moments:
        """The moments of all; in whatever order to a byte, if the parts come in order."""
        held = [part for part in parts if part.count]
        total = sum(part.count for part in held)
        if not total:
            return Moments()
        mean = sum(part.count * part.mean for part in held) / total
        squares = sum(part.squares + part.count * (part.mean - mean) ** 2 for part in held)
        return Moments(total, mean, squares, max(part.high for part in held))


@dataclass(frozen=True)
class Batch:
    """One micro-batch. Distances and times are in ticks.

    ``lateness`` and ``counts`` say how many tuples were how late against the progress as
    the batch began; both are empty in the first batch, which has nothing before it.
    """

    tuples: float
    lateness: Floats
    counts: Floats
    below: float = 0.0
    """How many tuples lay below the heartbeat in force as the batch began."""
    advance: float = 0.0
    """How far the batch moved the progress."""
    behind: float = 0.0
    """How far the mean WATTR of the batch trails the progress as it ends."""
    delays: Moments = Moments()
    """Arrival less WATTR, of a sample; only where there is an ARRIVAL."""
    arrival: Bound | None = None
    """The latest moment on the arrival's clock: of a tuple, or of a tick."""
    progress: Bound = -math.inf


class Estimator(Protocol):
    """Turns what was observed into a slack: how far the heartbeat trails the progress.

    The slack is infinite while nothing can be said yet. All of it must follow from what
    was observed, in order, so that every shard comes to the same.
    """

    name: ClassVar[str]
    needs_arrival: ClassVar[bool]

    def observe(self, batch: Batch) -> None: ...
    @property
    def slack(self) -> float: ...
    def state(self) -> dict[str, Any]: ...
    def restore(self, state: dict[str, Any]) -> None: ...

"""The rule that Confluent publishes for its default watermark."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from slackwater.core.disorder.batch import Batch

ROWS = 5_000
SHARE = 0.95
MARGINS = ((250, math.inf), (500, 7 * 86_400.0), (750, 30.0), (1_000, 10.0))
"""Up to so many rows, at least so many seconds."""
LEAST_SECONDS, MOST_SECONDS = 0.05, 7 * 86_400.0


@dataclass
class P95:
    """The 95% quantile of lateness over the last 5,000 rows, within 50 ms and 7 days.

    Nothing is closed before 250 rows; margins of 7 days, 30 and 10 seconds follow up to
    1,000 rows. For comparison; DRATIO has no effect.

    Needs: a timestamp as WATTR, for its bounds are in seconds
    Time: one sort of 5,000 numbers a batch
    Space: 5,000 numbers
    From: Confluent's SOURCE_WATERMARK, as published
    """

    name: ClassVar[str] = "p95"
    needs_arrival: ClassVar[bool] = False
    per_second: float = 1_000_000.0
    tuples: float = 0.0
    recent: list[tuple[float, float]] = field(default_factory=list)
    """Lateness and count, the oldest first."""

    def observe(self, batch: Batch) -> None:
        self.tuples += batch.tuples
        self.recent += zip(batch.lateness.tolist(), batch.counts.tolist(), strict=True)
        held = np.cumsum([count for _, count in self.recent[::-1]])
        keep = int(np.searchsorted(held, ROWS)) + 1
        self.recent = self.recent[-keep:]

    @property
    def slack(self) -> float:
        margin = next((m for rows, m in MARGINS if self.tuples <= rows), LEAST_SECONDS)
        if math.isinf(margin) or not self.recent:
            return math.inf
        values, counts = np.array(sorted(self.recent)).T
        share = np.cumsum(counts) / counts.sum()
        quantile = float(values[int(np.searchsorted(share, SHARE))]) / self.per_second
        return min(max(quantile, margin), MOST_SECONDS) * self.per_second

    def state(self) -> dict[str, Any]:
        return {"tuples": self.tuples, "recent": self.recent}

    def restore(self, state: dict[str, Any]) -> None:
        self.tuples = state["tuples"]
        self.recent = [(late, count) for late, count in state["recent"]]

"""The rule that Confluent publishes for its default watermark."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from slackwater.core.disorder.batch import Batch

Floats = npt.NDArray[np.float64]
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
    slack: float = math.inf
    lateness: Floats = field(default_factory=lambda: np.empty(0))
    counts: Floats = field(default_factory=lambda: np.empty(0))
    """How late the last tuples were, the oldest first, and how many were so."""

    def observe(self, batch: Batch) -> None:
        if not len(batch.lateness):
            return
        self.tuples += batch.tuples
        self.lateness = np.append(self.lateness, batch.lateness)
        self.counts = np.append(self.counts, batch.counts)
        newer = np.cumsum(self.counts[::-1])[::-1] - self.counts
        self.lateness, self.counts = self.lateness[newer < ROWS], self.counts[newer < ROWS]
        self.slack = self._slack()

    def _slack(self) -> float:
        margin = next((m for rows, m in MARGINS if self.tuples <= rows), LEAST_SECONDS)
        if math.isinf(margin):
            return math.inf
        order = np.argsort(self.lateness, kind="stable")
        share = np.cumsum(self.counts[order]) / self.counts.sum()
        quantile = float(self.lateness[order[int(np.searchsorted(share, SHARE))]])
        return min(max(quantile, margin * self.per_second), MOST_SECONDS * self.per_second)

    def state(self) -> dict[str, Any]:
        parts = {"lateness": self.lateness.tolist(), "counts": self.counts.tolist()}
        return parts | {"tuples": self.tuples, "slack": self.slack}

    def restore(self, state: dict[str, Any]) -> None:
        self.tuples, self.slack = state["tuples"], state["slack"]
        self.lateness, self.counts = np.array(state["lateness"]), np.array(state["counts"])

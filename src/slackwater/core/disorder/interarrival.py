"""The buffer size that a model of Poisson arrivals and normal delays calls for."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, field
from statistics import NormalDist
from typing import Any, ClassVar

from slackwater.core.disorder.adaptive_max import AdaptiveMax
from slackwater.core.disorder.batch import Batch, Moments

SMALLEST_BUFFER = 30
SMALLEST_SHARE = 0.001


def buffer_size(drop_share: float, sigma: float, theta: float) -> float:
    """How many tuples to hold: equation 11 of Kim 2011, at least 30."""
    c = NormalDist().inv_cdf(1 - drop_share) ** 2
    n = (c + math.sqrt(c * c + 8 * c * (sigma / theta) ** 2)) / 2
    return max(n, float(SMALLEST_BUFFER))


def simple_buffer_size(drop_share: float, sigma: float, rate: float) -> float:
    """Equation 12: what is left of equation 11 at high rates."""
    return math.sqrt(2) * NormalDist().inv_cdf(1 - drop_share) * sigma * rate


@dataclass
class Interarrival:
    """Holds the n latest tuples, with n from z(D), the deviation of delays and the gaps.

    The n tuples span n mean gaps, and further back by the mean lateness, since of the
    newest tuples many are still on their way. Up to 0.1% it hands over to ``adaptive-max``,
    as the paper does.

    Needs: DRATIO; better with ARRIVAL, else lateness stands for the delays
    Time: constant per batch; the estimate is renewed every ``period`` tuples
    Space: the moments of the last batches, until they hold ``samples`` samples
    From: Kim 2011, equations 11 and 12 and Algorithm 1
    """

    name: ClassVar[str] = "interarrival"
    needs_arrival: ClassVar[bool] = False
    drop_share: float
    period: int = 1_000
    samples: int = 1_000
    slack: float = math.inf
    since: float = 0.0
    recent: list[tuple[Moments, float, float, float]] = field(default_factory=list)
    """For each batch its delays, tuples, how far it moved the progress, and mean lateness."""
    fallback: AdaptiveMax | None = None

    def __post_init__(self) -> None:
        if self.drop_share <= SMALLEST_SHARE:
            self.fallback = AdaptiveMax()

    def observe(self, batch: Batch) -> None:
        if self.fallback is not None:
            self.fallback.observe(batch)
            self.slack = self.fallback.slack
            return
        delays = batch.delays if batch.delays.count else Moments.of(batch.lateness, batch.counts)
        if delays.count:
            late = Moments.of(batch.lateness, batch.counts).mean
            self.recent.append((delays, batch.tuples, batch.advance, late))
        while sum(each[0].count for each in self.recent[1:]) >= self.samples:
            self.recent.pop(0)
        self.since += batch.tuples
        if self.since >= self.period or math.isinf(self.slack):
            self._estimate()

    def _estimate(self) -> None:
        advance = sum(each[2] for each in self.recent)
        tuples = sum(each[1] for each in self.recent)
        if tuples < SMALLEST_BUFFER or advance <= 0:
            return
        self.since = 0.0
        theta = advance / tuples
        sigma = Moments.together(each[0] for each in self.recent).deviation
        late = sum(each[1] * each[3] for each in self.recent) / tuples
        self.slack = buffer_size(self.drop_share, sigma, theta) * theta + late

    def state(self) -> dict[str, Any]:
        recent = [[list(astuple(delays)), *rest] for delays, *rest in self.recent]
        inner = None if self.fallback is None else self.fallback.state()
        return {"slack": self.slack, "since": self.since, "recent": recent, "fallback": inner}

    def restore(self, state: dict[str, Any]) -> None:
        self.slack, self.since = state["slack"], state["since"]
        self.recent = [(Moments(*delays), *rest) for delays, *rest in state["recent"]]
        if self.fallback is not None:
            self.fallback.restore(state["fallback"])

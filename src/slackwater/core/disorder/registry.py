"""Every estimator by the name that a query uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from slackwater.core.disorder.adaptive_max import AdaptiveMax
from slackwater.core.disorder.batch import Estimator
from slackwater.core.disorder.fixed import Fixed
from slackwater.core.disorder.interarrival import Interarrival
from slackwater.core.disorder.max_delay import MaxDelay
from slackwater.core.disorder.mean_distance import MeanDistance
from slackwater.core.disorder.p95 import P95
from slackwater.core.disorder.quantile import Quantile
from slackwater.core.disorder.remote_clock import RemoteClock
from slackwater.core.intervals import Bound

_CLASSES = (
    Quantile, Fixed, MaxDelay, AdaptiveMax, MeanDistance, Interarrival, RemoteClock, P95,
)  # fmt: skip
ESTIMATORS: Mapping[str, type[Any]] = MappingProxyType({cls.name: cls for cls in _CLASSES})
STEERED = (Quantile.name, MeanDistance.name, Interarrival.name)
"""Those that DRATIO steers."""
DEFAULT = Quantile.name


@dataclass(frozen=True)
class EstimatorPlan:
    """Which estimator with which parameters; ``build`` makes the thing that observes."""

    name: str
    drop_share: float = 0.0
    slack: Bound = 0
    per_second: float = 1.0

    @staticmethod
    def fixed(slack: Bound) -> EstimatorPlan:
        return EstimatorPlan(Fixed.name, slack=slack)

    @property
    def is_fixed(self) -> bool:
        return self.name == Fixed.name

    @property
    def is_steered(self) -> bool:
        return self.name in STEERED

    def build(self) -> Estimator:
        if self.is_fixed:
            return Fixed(self.slack)
        if self.is_steered:
            steered: Estimator = ESTIMATORS[self.name](self.drop_share)
            return steered
        if self.name == P95.name:
            return P95(self.per_second)
        other: Estimator = ESTIMATORS[self.name]()
        return other

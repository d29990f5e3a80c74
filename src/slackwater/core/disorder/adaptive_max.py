"""The adaptive maximum of Srivastava and Widom."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch


@dataclass
class AdaptiveMax:
    """The largest lateness, let down by half the way to the next after each W tuples.

    A larger one takes effect at once. After W tuples the slack becomes (m1 + m2) / 2, of
    the slack itself and the largest lateness seen since.

    Needs: W, in tuples; DRATIO has no effect
    Time: constant per batch
    Space: three numbers
    From: Srivastava and Widom 2004, as in Kim 2011, section 2
    """

    name: ClassVar[str] = "adaptive-max"
    needs_arrival: ClassVar[bool] = False
    tuples: int = 10_000
    slack: float = 0.0
    second: float = 0.0
    seen: float = 0.0

    def observe(self, batch: Batch) -> None:
        largest = float(batch.lateness.max(initial=0.0))
        if largest > self.slack:
            self.slack = largest
        else:
            self.second = max(self.second, largest)
        self.seen += batch.tuples
        if self.seen >= self.tuples:
            self.slack = (self.slack + self.second) / 2
            self.second = self.seen = 0.0

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def restore(self, state: dict[str, Any]) -> None:
        self.slack, self.second, self.seen = state["slack"], state["second"], state["seen"]

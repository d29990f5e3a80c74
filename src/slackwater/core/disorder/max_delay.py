"""The largest lateness seen."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch


@dataclass
class MaxDelay:
    """Waits as long as the latest tuple so far would have needed; never shorter again.

    Needs: nothing; DRATIO has no effect
    Time: constant per batch
    Space: one number
    From: STREAM and Gigascope, as in Kim 2010, section 2
    """

    name: ClassVar[str] = "max-delay"
    needs_arrival: ClassVar[bool] = False
    slack: float = 0.0

    def observe(self, batch: Batch) -> None:
        self.slack = max(self.slack, float(batch.lateness.max(initial=0.0)))

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def restore(self, state: dict[str, Any]) -> None:
        self.slack = state["slack"]

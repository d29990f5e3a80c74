"""A constant slack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch
from slackwater.core.intervals import Bound


@dataclass
class Fixed:
    """A constant slack, as in Aurora and in Spark's ``withWatermark``.

    Needs: SLACK in the window clause
    Time: constant per batch
    Space: none
    From: Aurora, as in Kim 2010
    """

    name: ClassVar[str] = "fixed"
    needs_arrival: ClassVar[bool] = False
    slack: Bound

    def observe(self, batch: Batch) -> None:
        """Whatever is seen, the slack is the same."""

    def state(self) -> dict[str, Any]:
        return {}

    def restore(self, state: dict[str, Any]) -> None:
        """There is nothing to restore."""

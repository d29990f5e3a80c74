"""A local clock locked to the remote one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from slackwater.core.disorder.batch import Batch


@dataclass
class RemoteClock:
    """The arrival's clock less a smoothed delay; ticks move it while no tuple comes.

    The delay is lambda = alpha * lambda + (1 - alpha) * delay, once a batch, so about half
    of all tuples may be later. It suits streams with little disorder and long silences.

    Needs: ARRIVAL; ticks from the control source to go on when the stream is idle
    Time: constant per batch
    Space: three numbers
    From: Salehi 2009, section VI-D
    """

    name: ClassVar[str] = "remote-clock"
    needs_arrival: ClassVar[bool] = True
    alpha: float = 0.9
    delay: float | None = None
    now: float | None = None
    progress: float = 0.0

    def observe(self, batch: Batch) -> None:
        if batch.delays.count:
            mean = batch.delays.mean
            before = mean if self.delay is None else self.delay
            self.delay = self.alpha * before + (1 - self.alpha) * mean
        if batch.arrival is not None:
            self.now = max(batch.arrival, self.now or batch.arrival)
        self.progress = float(batch.progress)

    @property
    def slack(self) -> float:
        """Below zero where the clock has gone past the largest WATTR."""
        if self.delay is None or self.now is None:
            return float("inf")
        return self.progress - (self.now - self.delay)

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def restore(self, state: dict[str, Any]) -> None:
        for name in ("delay", "now", "progress"):
            setattr(self, name, state[name])

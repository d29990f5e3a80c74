"""An estimator tried on a stream that is known whole, tuple by tuple.

The heartbeat follows each tuple, as in the papers; the slack is estimated anew after every
``period`` tuples. Experiments, benchmarks and ``slackwater advise`` use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slackwater.core.disorder.batch import Batch, Estimator, Moments
from slackwater.core.disorder.progress import REACH
from slackwater.core.time import Ticks

Floats = npt.NDArray[np.float64]
PERIOD = 100
AROUND = 64
SAMPLED = 10
"""One tuple in so many gives its delay."""


@dataclass(frozen=True)
class Track:
    """A stream in the order of arrival, its ticks counted from the first tuple's."""

    ticks: Floats
    progress: Floats
    """The largest tick up to and with each tuple."""
    lateness: Floats
    delays: Floats | None = None

    @staticmethod
    def of(ticks: Ticks, arrivals: Ticks | None = None) -> Track:
        """Of at least one tuple; with arrivals, no tuple counts as from after its own.

        Without them, a tuple far ahead of those around it does not count as progress.
        """
        origin = ticks[0]
        if arrivals is not None:
            ticks = np.minimum(ticks, arrivals)
        local = (ticks - origin).astype(np.float64)
        believed = local if arrivals is not None else _believed(local)
        progress = np.maximum.accumulate(believed)
        before = np.append(local[:1], progress[:-1])
        delays = None if arrivals is None else (arrivals - ticks).astype(np.float64)
        return Track(local, progress, np.maximum(before - local, 0.0), delays)

    def __len__(self) -> int:
        return len(self.ticks)

    def hindsight(self, drop_share: float) -> float:
        """The smallest constant slack that would have lost no more than a share."""
        allowed = int(drop_share * len(self))
        return float(np.partition(self.lateness, len(self) - 1 - allowed)[len(self) - 1 - allowed])


def _believed(ticks: Floats) -> Floats:
    """Ticks, those far ahead of the median around them put back to it."""
    blocks = -(-len(ticks) // AROUND)
    padded = np.pad(ticks, (0, blocks * AROUND - len(ticks)), mode="edge")
    medians = np.median(padded.reshape(blocks, AROUND), axis=1)
    around = np.repeat(medians, AROUND)[: len(ticks)]
    usual = float(np.quantile(np.abs(ticks - around), 0.99))
    far = ticks - around > REACH * max(usual, float(np.median(np.abs(np.diff(medians, prepend=0)))))
    return np.where(far & (usual > 0), around, ticks)


@dataclass(frozen=True)
class Trial:
    """What became of the tuples, and how far the heartbeat trailed the progress at each.

    ``waits`` is infinite as long as no heartbeat was given.
    """

    lost: npt.NDArray[np.bool_]
    waits: Floats

    @property
    def drop_share(self) -> float:
        return float(self.lost.mean())

    @property
    def mean_wait(self) -> float:
        return float(self._given.mean()) if len(self._given) else float("inf")

    @property
    def p99_wait(self) -> float:
        return float(np.quantile(self._given, 0.99)) if len(self._given) else float("inf")

    @property
    def _given(self) -> Floats:
        return self.waits[np.isfinite(self.waits)]

    def worst_stretch(self, tuples: int) -> float:
        """The largest share lost in any stretch of so many tuples."""
        passed = np.append(0, np.cumsum(self.lost))
        if len(passed) <= tuples:
            return self.drop_share
        return float((passed[tuples:] - passed[:-tuples]).max()) / tuples


def trial(estimator: Estimator, track: Track, period: int = PERIOD) -> Trial:
    """Run an estimator over a stream."""
    parts = list(_steps(estimator, track, period))
    return Trial(np.concatenate([lost for lost, _ in parts]), np.concatenate([w for _, w in parts]))


def _steps(
    estimator: Estimator, track: Track, period: int
) -> Iterator[tuple[npt.NDArray[np.bool_], Floats]]:
    heartbeat, before = -np.inf, float(track.ticks[0])
    for start in range(0, len(track), period):
        part = slice(start, start + period)
        ticks, progress = track.ticks[part], track.progress[part]
        beats = np.maximum(heartbeat, progress - estimator.slack)
        lost = ticks < np.append(heartbeat, beats[:-1])
        yield lost, progress - beats
        heartbeat, end = beats[-1], float(progress[-1])
        estimator.observe(_batch(track, part, int(lost.sum()), end - before))
        before = end


def _batch(track: Track, part: slice, lost: int, advance: float) -> Batch:
    ticks, lateness = track.ticks[part], track.lateness[part]
    end = float(track.progress[part][-1])
    delays = Moments() if track.delays is None else Moments.of(track.delays[part][::SAMPLED])
    arrival = None
    if track.delays is not None:
        arrival = float((ticks + track.delays[part]).max())
    return Batch(
        tuples=float(len(ticks)),
        lateness=lateness,
        counts=np.ones(len(ticks)),
        below=float(lost),
        advance=advance,
        behind=end - float(ticks.mean()),
        delays=delays,
        arrival=arrival,
        progress=end,
    )

"""The replicated controller: same summaries in, same heartbeat out, on every shard."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field

import numpy as np

from slackwater.core.disorder.batch import Batch, Estimator, Moments
from slackwater.core.disorder.progress import Progress
from slackwater.core.disorder.registry import EstimatorPlan
from slackwater.core.disorder.summary import Summary
from slackwater.core.intervals import INFINITY, Bound
from slackwater.core.state import State, ValueCell


@dataclass
class DisorderControl:
    """Progress, slack and heartbeat, and the ceiling above which a tuple is too far ahead.

    Without an estimator the heartbeat is given from outside and this only keeps watch
    over the far future.

    Needs: the summaries of all map tasks, on every shard
    Time: per batch what the estimator takes; under MAX FUTURE one step per pane touched
    Space: that of the estimator
    From: ours; heartbeats as in Kim 2010
    """

    plan: EstimatorPlan | None
    max_future: Bound | None = None
    heartbeat: Bound = -INFINITY
    tuples: float = 0.0
    below: float = 0.0
    _progress: Progress = field(default_factory=Progress)
    _estimator: Estimator | None = None

    def open(self, state: State) -> None:
        self._cell = ValueCell(state, "control")
        self._estimator = None if self.plan is None else self.plan.build()
        stored = self._cell.get()
        if stored is None:
            return
        parts = json.loads(stored)
        self.heartbeat = parts["heartbeat"]
        self.tuples, self.below = parts["tuples"], parts["below"]
        self._progress = Progress.restored(parts["progress"])
        if self._estimator is not None:
            self._estimator.restore(parts["estimator"])

    def flush(self) -> None:
        parts = {
            "heartbeat": self.heartbeat,
            "tuples": self.tuples,
            "below": self.below,
            "progress": self._progress.state(),
            "estimator": None if self._estimator is None else self._estimator.state(),
        }
        self._cell.set(json.dumps(parts).encode())

    @property
    def progress(self) -> Bound:
        return self._progress.reached

    @property
    def slack(self) -> float:
        """What the estimator asks for now; infinite while it cannot say, or without one."""
        return INFINITY if self._estimator is None else float(self._estimator.slack)

    def observe(self, summary: Summary, now: Bound | None = None) -> Bound:
        """Take in one micro-batch; returns the last pane that is not too far in the future.

        ``now`` is a moment on the arrival's clock that a tick has brought.
        """
        before = self.progress
        ceiling = self._move(summary)
        if self._estimator is None:
            return ceiling
        batch = self._batch(summary, before, now)
        self.tuples += batch.tuples
        self.below += batch.below
        self._estimator.observe(batch)
        self.heartbeat = max(self.heartbeat, self._proposed())
        return ceiling

    def _proposed(self) -> Bound:
        slack = self.slack
        if slack == INFINITY or self.progress == -INFINITY:
            return -INFINITY
        return self.progress - (math.floor(slack) if isinstance(self.progress, int) else slack)

    def _move(self, summary: Summary) -> Bound:
        if self.max_future is not None and summary.panes:
            return self._move_carefully(summary.panes, self.max_future)
        if summary.high is None:
            return INFINITY
        if summary.spreads and summary.arrival is None:
            given = self.heartbeat > -INFINITY
            self._progress.observe(summary.high, summary.spreads, self.slack, given)
        else:
            self._progress.follow(summary.high)
        return INFINITY

    def _batch(self, summary: Summary, before: Bound, now: Bound | None) -> Batch:
        late, counts, below = np.empty(0), np.empty(0), 0.0
        tuples = float(sum(spread.counts.sum() for spread in summary.spreads))
        first = before == -INFINITY
        if summary.spreads and not first:
            late = np.concatenate([s.lateness(before) for s in summary.spreads])
            counts = np.concatenate([s.counts for s in summary.spreads])
            below = float(counts[late > float(before - self.heartbeat)].sum())
        moments = [s.count_and_mean(self.progress) for s in summary.spreads]
        return Batch(
            tuples=tuples,
            lateness=late,
            counts=counts,
            below=below,
            advance=0.0 if first or not tuples else float(self.progress - before),
            behind=sum(n * mean for n, mean in moments) / tuples if tuples else 0.0,
            delays=Moments.together(summary.delays),
            arrival=_latest(summary.arrival, now),
            progress=self.progress,
        )

    def _move_carefully(
        self, panes: tuple[tuple[int, int, Bound], ...], max_future: Bound
    ) -> Bound:
        """Follow the panes upward as long as no step is longer than MAX FUTURE.

        The walk starts at the progress so far, or at the first batch's median. Where more of
        the recent tuples lie beyond its reach than within, the stream has moved, and it
        starts again at the median of those beyond.
        """
        if self.progress == -INFINITY:
            self._progress.follow(_median(panes))
        ceiling, progress = _walk(panes, self.progress, max_future)
        far = tuple(row for row in panes if row[0] > ceiling)
        beyond = sum(count for _, count, _ in far)
        if self._progress.moved_on(beyond, sum(count for _, count, _ in panes) - beyond):
            ceiling, progress = _walk(panes, _median(far), max_future)
        self._progress.follow(progress)
        return ceiling


def _latest(*moments: Bound | None) -> Bound | None:
    return max((moment for moment in moments if moment is not None), default=None)


def _walk(
    panes: tuple[tuple[int, int, Bound], ...], start: Bound, max_future: Bound
) -> tuple[Bound, Bound]:
    reached, ceiling = start, -INFINITY
    for pane, _, high in panes:
        if high - reached > max_future:
            break
        reached, ceiling = max(reached, high), pane
    return ceiling, reached


def _median(panes: tuple[tuple[int, int, Bound], ...]) -> Bound:
    passed, tuples = 0, sum(count for _, count, _ in panes)
    for _, count, high in panes:
        passed += count
        if 2 * passed >= tuples:
            return high
    return -INFINITY

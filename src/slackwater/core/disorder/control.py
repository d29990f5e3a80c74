"""The replicated controller: same summaries in, same heartbeat out, on every shard."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Protocol

from slackwater.core.disorder.summary import Summary
from slackwater.core.intervals import INFINITY, Bound
from slackwater.core.state import State, ValueCell


class Estimator(Protocol):
    """Turns what was observed into a slack."""

    def slack(self, observed: Summary) -> Bound: ...


@dataclass(frozen=True)
class Fixed:
    """A constant slack, as in Aurora and in Spark's ``withWatermark``.

    Needs: SLACK in the window clause
    Time: constant per batch
    Space: none
    From: Aurora, as in Kim 2010
    """

    constant: Bound

    def slack(self, observed: Summary) -> Bound:
        return self.constant


@dataclass
class DisorderControl:
    """Progress and the ceiling above which a tuple is too far in the future.

    Without an estimator the heartbeat is given from outside and this only keeps watch
    over the far future.

    Needs: the summaries of all map tasks, on every shard
    Time: constant per batch; under MAX FUTURE one step per pane that the batch touches
    Space: one number
    From: ours; heartbeats as in Kim 2010
    """

    estimator: Estimator | None
    max_future: Bound | None = None
    progress: Bound = -INFINITY

    def open(self, state: State) -> None:
        self._cell = ValueCell(state, "control")
        stored = self._cell.get()
        self.progress = json.loads(stored) if stored else -INFINITY

    def flush(self) -> None:
        self._cell.set(json.dumps(self.progress).encode())

    def observe(self, summary: Summary) -> Bound:
        """Take in one micro-batch; returns the last pane that is not too far in the future."""
        if self.max_future is None or not summary.panes:
            if summary.high is not None:
                self.progress = max(self.progress, summary.high)
            return INFINITY
        return self._observe_carefully(summary.panes, self.max_future)

    def heartbeat(self, summary: Summary) -> Bound:
        """Below this no tuple is waited for."""
        if self.estimator is None:
            return -INFINITY
        return self.progress - self.estimator.slack(summary)

    def _observe_carefully(
        self, panes: tuple[tuple[int, int, Bound], ...], max_future: Bound
    ) -> Bound:
        """Follow the panes upward as long as no step is longer than MAX FUTURE.

        The walk starts at the progress so far; at the batch's median where there is none,
        or where more than half of the batch lies beyond reach: then the stream has moved.
        """
        ceiling, progress = _walk(panes, self.progress, max_future)
        tuples = sum(count for _, count, _ in panes)
        beyond = sum(count for pane, count, _ in panes if pane > ceiling)
        if self.progress == -INFINITY or 2 * beyond > tuples:
            ceiling, progress = _walk(panes, _median(panes, tuples), max_future)
        self.progress = max(self.progress, progress)
        return ceiling


def _walk(
    panes: tuple[tuple[int, int, Bound], ...], start: Bound, max_future: Bound
) -> tuple[Bound, Bound]:
    reached, ceiling = start, -INFINITY
    for pane, _, high in panes:
        if high - reached > max_future:
            break
        reached, ceiling = max(reached, high), pane
    return ceiling, reached


def _median(panes: tuple[tuple[int, int, Bound], ...], tuples: int) -> Bound:
    passed = 0
    for _, count, high in panes:
        passed += count
        if 2 * passed >= tuples:
            return high
    return -INFINITY

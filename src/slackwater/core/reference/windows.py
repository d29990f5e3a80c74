"""A naive twin of one whole stage: every tuple is kept in a list for each window it is in.

For tests and for clarity; the standard library only. There are no panes to merge, no
shards and no encodings here: a window is closed for a group when the punctuations that
match the group cover it, and then its list is aggregated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from slackwater.core.reference.intervals import Bound, covers

Group: TypeAlias = tuple[Any, ...]


class Tuple(NamedTuple):
    """One tuple of the stream; a tick may be null or NaN, and WHERE may say no."""

    tick: Bound | None
    group: Group = ()
    values: tuple[Any, ...] = ()
    keep: bool = True


def any_group(group: Group) -> bool:
    """The pattern of a punctuation that speaks of all groups."""
    return True


class Closing(NamedTuple):
    """A punctuation: no later tuple of the groups that match is in ``[low, high)``."""

    low: Bound
    high: Bound
    matches: Callable[[Group], bool] = any_group


class Row(NamedTuple):
    """A result: a window (of a late row: a pane), a group, its aggregates, how many tuples."""

    start: Bound
    end: Bound
    group: Group
    aggregates: tuple[Any, ...]
    tuples: int


@dataclass(frozen=True)
class NaiveWindows:
    """Window w covers ``[(w+1)*SLIDE - RANGE, (w+1)*SLIDE)``; edges are rounded to ticks."""

    range: Fraction
    slide: Fraction
    floating: bool = False

    def edge(self, exact: Fraction) -> Bound:
        return float(exact) if self.floating else int(exact)

    def bounds(self, window: int) -> tuple[Bound, Bound]:
        end = (window + 1) * self.slide
        return self.edge(end - self.range), self.edge(end)

    def windows_of(self, tick: Bound) -> list[int]:
        """All windows that a tick is in: look at every one that could be near."""
        first = math.floor(Fraction(tick) / self.slide) - 2
        end = math.floor((Fraction(tick) + self.range) / self.slide) + 2
        near = ((window, *self.bounds(window)) for window in range(first, end))
        return [window for window, low, high in near if low <= tick < high]

    def pane_width(self) -> Fraction:
        """The widest step that both RANGE and SLIDE are multiples of."""
        scale = self.range.denominator * self.slide.denominator
        return Fraction(math.gcd(int(self.range * scale), int(self.slide * scale)), scale)

    def pane_of(self, tick: Bound) -> int:
        width = self.pane_width()
        pane = math.floor(Fraction(tick) / width)
        while self.edge((pane + 1) * width) <= tick:
            pane += 1
        while self.edge(pane * width) > tick:
            pane -= 1
        return pane

    def pane_bounds(self, pane: int) -> tuple[Bound, Bound]:
        width = self.pane_width()
        return self.edge(pane * width), self.edge((pane + 1) * width)


@dataclass
class Totals:
    """What became of every tuple so far."""

    input: int = 0
    filtered: int = 0
    null: int = 0
    not_a_number: int = 0
    future: int = 0
    in_no_window: int = 0
    late: int = 0


@dataclass
class NaiveStage:
    """A stage fed with micro-batches. ``aggregate`` turns the tuples of a row into its values.

    With ``slack`` the heartbeat trails the largest tick by that much; without it only
    the punctuations from outside close anything.
    """

    windows: NaiveWindows
    aggregate: Callable[[Sequence[Tuple]], tuple[Any, ...]]
    slack: Bound | None = None
    max_future: Bound | None = None
    progress: Bound = -math.inf
    beyond: float = 0.0
    within: float = 0.0
    totals: Totals = field(default_factory=Totals)
    closings: list[Closing] = field(default_factory=list)
    open: dict[tuple[int, Group], list[Tuple]] = field(default_factory=dict)

    def batch(
        self, tuples: Iterable[Tuple], punctuations: Iterable[Closing] = ()
    ) -> tuple[list[Row], list[Row]]:
        """One micro-batch: its final rows, and its late rows, one per pane and group."""
        late: dict[tuple[int, Group], list[Tuple]] = {}
        for each in self._near(self._usable(tuples)):
            self._place(each, late)
        self.closings += punctuations
        if self.slack is not None:
            self.closings.append(Closing(-math.inf, self.progress - self.slack))
        done = [key for key in self.open if self.is_closed(*key)]
        finals = [
            self._row(self.windows.bounds(window), group, self.open.pop((window, group)))
            for window, group in done
        ]
        lates = [
            self._row(self.windows.pane_bounds(pane), group, members)
            for (pane, group), members in late.items()
        ]
        return finals, lates

    def is_closed(self, window: int, group: Group) -> bool:
        """Whether the punctuations that match a group cover all of a window."""
        matching = [(c.low, c.high) for c in self.closings if c.matches(group)]
        return covers(matching, *self.windows.bounds(window))

    def _usable(self, tuples: Iterable[Tuple]) -> list[Tuple]:
        """The tuples that have a tick, whatever WHERE says: all of them show progress."""
        usable = []
        for each in tuples:
            self.totals.input += 1
            if each.tick is None:
                self.totals.null += 1
            elif not math.isfinite(each.tick):
                self.totals.not_a_number += 1
            else:
                usable.append(each)
        return usable

    def _near(self, usable: list[Tuple]) -> Iterable[Tuple]:
        """Those that WHERE keeps and that are not too far in the future."""
        ceiling = self._observe([each.tick for each in usable if each.tick is not None])
        for each in usable:
            if not each.keep:
                self.totals.filtered += 1
            elif each.tick is not None and self.windows.pane_of(each.tick) > ceiling:
                self.totals.future += 1
            else:
                yield each

    def _place(self, each: Tuple, late: dict[tuple[int, Group], list[Tuple]]) -> None:
        assert each.tick is not None
        windows = self.windows.windows_of(each.tick)
        still_open = [window for window in windows if not self.is_closed(window, each.group)]
        if not windows:
            self.totals.in_no_window += 1
        elif not still_open:
            self.totals.late += 1
            late.setdefault((self.windows.pane_of(each.tick), each.group), []).append(each)
        for window in still_open:
            self.open.setdefault((window, each.group), []).append(each)

    def _row(self, bounds: tuple[Bound, Bound], group: Group, members: Sequence[Tuple]) -> Row:
        return Row(*bounds, group, self.aggregate(members), len(members))

    def _observe(self, ticks: Sequence[Bound]) -> Bound:
        """Take in a batch's ticks; the last pane that is not too far in the future."""
        if self.max_future is None or not ticks:
            self.progress = max([self.progress, *ticks])
            return math.inf
        panes = sorted({self.windows.pane_of(tick) for tick in ticks})
        highs = {p: max(t for t in ticks if self.windows.pane_of(t) == p) for p in panes}
        if self.progress == -math.inf:
            self.progress = self._middle(highs, ticks)
        ceiling, reached = self._climb(highs, self.progress, self.max_future)
        far = [tick for tick in ticks if self.windows.pane_of(tick) > ceiling]
        if self._moved_on(len(far), len(ticks) - len(far)):
            ceiling, reached = self._climb(highs, self._middle(highs, far), self.max_future)
        self.progress = max(self.progress, reached)
        return ceiling

    def _middle(self, highs: dict[int, Bound], ticks: Sequence[Bound]) -> Bound:
        middle = sorted(ticks)[(len(ticks) - 1) // 2]
        return highs[self.windows.pane_of(middle)]

    def _moved_on(self, beyond: int, within: int) -> bool:
        """Whether more of the recent tuples, at least three, lie beyond a gap than before it."""
        kept = 0.5 ** ((beyond + within) / 16)
        self.beyond = self.beyond * kept + beyond
        self.within = self.within * kept + within
        moved = beyond > 0 and self.beyond > max(self.within, 2)
        if moved:
            self.beyond, self.within = 0.0, float(beyond)
        return moved

    def _climb(
        self, highs: dict[int, Bound], start: Bound, max_future: Bound
    ) -> tuple[Bound, Bound]:
        """From pane to pane, as long as no step up is longer than MAX FUTURE."""
        ceiling: Bound = -math.inf
        reached = start
        for pane in sorted(highs):
            if highs[pane] - reached > max_future:
                break
            ceiling, reached = pane, max(reached, highs[pane])
        return ceiling, reached

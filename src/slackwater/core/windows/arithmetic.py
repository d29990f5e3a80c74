"""Which window, which pane: NiagaraST's arithmetic (Bhat 2011, section 2.2).

Window w covers ``[(w+1)*SLIDE - RANGE, (w+1)*SLIDE)``: ends are aligned to multiples of
SLIDE. Spark aligns starts; the two agree whenever SLIDE divides RANGE. A pane is
``gcd(RANGE, SLIDE)`` wide, so window and slide are whole numbers of panes.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd

import numpy as np
import numpy.typing as npt

from slackwater.core.intervals import INFINITY, Bound, IntervalSet
from slackwater.core.time import Ticks

Ids = npt.NDArray[np.int64]


@dataclass(frozen=True)
class WindowSpec:
    """RANGE and SLIDE in ticks; fractions only where ticks are ``floating``."""

    range: Fraction
    slide: Fraction
    floating: bool = False

    def __post_init__(self) -> None:
        if self.range <= 0 or self.slide <= 0:
            raise ValueError("RANGE and SLIDE must be positive")
        if not self.floating and self.pane.denominator != 1:
            raise ValueError("RANGE and SLIDE must be whole numbers of ticks")

    @cached_property
    def pane(self) -> Fraction:
        """The pane's width in ticks."""
        common = gcd(
            self.range.numerator * self.slide.denominator,
            self.slide.numerator * self.range.denominator,
        )
        return Fraction(common, self.range.denominator * self.slide.denominator)

    @cached_property
    def panes_per_window(self) -> int:
        return int(self.range / self.pane)

    @cached_property
    def panes_per_slide(self) -> int:
        return int(self.slide / self.pane)

    @property
    def has_gaps(self) -> bool:
        return self.slide > self.range

    def pane_of(self, ticks: Ticks) -> Ids:
        """The pane of each tick."""
        if not self.floating:
            return np.floor_divide(ticks, int(self.pane))
        panes = np.floor(ticks / float(self.pane)).astype(np.int64)
        # a pane's edge is the rounded product, so compare with it instead of trusting the quotient
        panes += ticks >= self._edges(panes + 1)
        panes -= ticks < self._edges(panes)
        return panes

    def edge(self, panes: Ids) -> Ticks:
        """The ticks at which panes begin."""
        return self._edges(panes) if self.floating else panes * int(self.pane)

    def _edges(self, panes: Ids) -> npt.NDArray[np.float64]:
        return panes * self.pane.numerator / self.pane.denominator

    def first_window(self, panes: Ids) -> Ids:
        """The first window that contains each pane: the first to end after it."""
        return np.floor_divide(panes, self.panes_per_slide)

    def last_window(self, panes: Ids) -> Ids:
        """The last window that contains each pane; below ``first_window`` where it is in a gap."""
        return np.floor_divide(panes + self.panes_per_window, self.panes_per_slide) - 1

    def first_pane(self, windows: Ids) -> Ids:
        return (windows + 1) * self.panes_per_slide - self.panes_per_window

    def end_pane(self, windows: Ids) -> Ids:
        """The pane just after each window."""
        return (windows + 1) * self.panes_per_slide

    def windows_in(self, closed: IntervalSet) -> IntervalSet:
        """Ids of the windows that lie wholly inside; in ticks in, window ids out."""
        spans = (self._windows_between(low, high) for low, high in closed)
        return IntervalSet.of(*(span for span in spans if span[0] < span[1]))

    def _windows_between(self, low: Bound, high: Bound) -> tuple[Bound, Bound]:
        first: Bound = -INFINITY
        end: Bound = INFINITY
        if low != -INFINITY:
            reach = self._panes_below(low, up=True) + self.panes_per_window
            first = -(-reach // self.panes_per_slide) - 1
        if high != INFINITY:
            end = self._panes_below(high, up=False) // self.panes_per_slide
        return first, end

    def _panes_below(self, tick: Bound, up: bool) -> int:
        """The pane edge at or next to a tick: at or after it if ``up``, else at or before it."""
        ticks: Ticks = np.array([tick], np.float64) if self.floating else np.array([tick], np.int64)
        pane = int(self.pane_of(ticks)[0])
        exact = self.edge(np.array([pane]))[0] == tick
        return pane + 1 if up and not exact else pane

    def panes_in(self, closed: IntervalSet) -> IntervalSet:
        """Ids of the panes that lie wholly inside; in ticks in, pane ids out."""

        def span(low: Bound, high: Bound) -> tuple[Bound, Bound]:
            first = low if low == -INFINITY else self._panes_below(low, up=True)
            end = high if high == INFINITY else self._panes_below(high, up=False)
            return first, end

        return IntervalSet.of(*(span(low, high) for low, high in closed))

    def panes_of(self, windows: IntervalSet) -> IntervalSet:
        """Ids of the panes that any of the windows contains; window ids in."""

        def span(low: Bound, high: Bound) -> tuple[Bound, Bound]:
            first = (low + 1) * self.panes_per_slide - self.panes_per_window
            return first, high * self.panes_per_slide

        return IntervalSet.of(*(span(low, high) for low, high in windows))

    def windows_of(self, panes: Ids) -> IntervalSet:
        """Ids of the windows that contain any of the panes."""
        spans = zip(self.first_window(panes), self.last_window(panes) + 1, strict=True)
        return IntervalSet.of(*((int(first), int(end)) for first, end in spans))

"""What is closed: for everybody, and for single groups.

Punctuations accumulate here. A window is closed for a group when the punctuations that
match the group cover all of it; a tuple is late for a window that was closed as its
micro-batch began.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.elements import Predicate, Punctuation
from slackwater.core.intervals import NOTHING, IntervalSet
from slackwater.core.windows.arithmetic import Ids
from slackwater.core.windows.layout import Layout

GroupPattern = tuple[tuple[str, Predicate], ...]
Rows = npt.NDArray[np.bool_]


@dataclass
class Closed:
    """The closed part of the WATTR, for all groups and by pattern on the group columns."""

    layout: Layout
    everywhere: IntervalSet = NOTHING
    patterns: dict[GroupPattern, IntervalSet] = field(default_factory=dict)

    def with_punctuation(self, punctuation: Punctuation) -> Closed:
        interval = punctuation.time
        pattern = self._pattern(punctuation.groups)
        if not pattern:
            return Closed(self.layout, self.everywhere.union(interval), self.patterns)._pruned()
        before = self.patterns.get(pattern, NOTHING)
        patterns = self.patterns | {pattern: before.union(interval)}
        return Closed(self.layout, self.everywhere, patterns)._pruned()

    def _pattern(self, groups: Mapping[str, Predicate]) -> GroupPattern:
        return tuple(sorted((name, p) for name, p in groups.items() if not p.is_any))

    def _pruned(self) -> Closed:
        """Without patterns that add nothing to what is closed everywhere."""
        useful = {
            pattern: closed
            for pattern, closed in self.patterns.items()
            if closed.minus(self.everywhere)
        }
        return Closed(self.layout, self.everywhere, useful)

    def classes(self, keys: Sequence[pa.Array], rows: int) -> Iterator[tuple[IntervalSet, Rows]]:
        """Rows that match the same patterns, with what is closed for them."""
        if not self.patterns:
            yield self.everywhere, np.ones(rows, dtype=bool)
            return
        matches = [self.matches(pattern, keys, rows) for pattern in self.patterns]
        signature = np.stack(matches, axis=1)
        distinct, codes = np.unique(signature, axis=0, return_inverse=True)
        for code, matched in enumerate(distinct):
            closed = self.everywhere
            for interval, hit in zip(self.patterns.values(), matched, strict=True):
                closed = closed.union(interval) if hit else closed
            yield closed, codes.reshape(-1) == code

    def matches(self, pattern: GroupPattern, keys: Sequence[pa.Array], rows: int) -> Rows:
        """Which rows a pattern on group columns matches."""
        names = [key.name for key in self.layout.keys]
        result = np.ones(rows, dtype=bool)
        for name, predicate in pattern:
            if name not in names:
                raise ValueError(
                    f"a punctuation names the group column {name!r}; "
                    f"this query groups by {', '.join(names) or 'nothing'}"
                )
            result &= predicate.matches(keys[names.index(name)])
        return result

    def covers_each(self, firsts: Ids, ends: Ids, keys: Sequence[pa.Array]) -> Rows:
        """Per row, whether all windows ``first .. end-1`` are closed for its group."""
        covered = np.zeros(len(firsts), dtype=bool)
        for closed, rows in self.classes(keys, len(firsts)):
            covered |= rows & self.windows(closed).covers_each(firsts, ends)
        return covered

    def covers(self, windows: Ids, keys: Sequence[pa.Array]) -> Rows:
        """Per row, whether its window is closed for its group."""
        return self.covers_each(windows, windows + 1, keys)

    def for_next_stage(self, passing: Mapping[str, str]) -> Iterator[Punctuation]:
        """What is closed, in terms of result rows: a row's time is just before its window's end.

        ``passing`` maps group columns to what the next stage calls them; a pattern on any
        other column means nothing there.
        """
        yield Punctuation(self._result_times(self.everywhere))
        for pattern, closed in self.patterns.items():
            if all(name in passing for name, _ in pattern):
                groups = {passing[name]: predicate for name, predicate in pattern}
                yield Punctuation(self._result_times(self.everywhere.union(closed)), groups)

    def _result_times(self, closed: IntervalSet) -> IntervalSet:
        domain = self.layout.domain
        reach = domain.exact(self.layout.spec.range)
        return IntervalSet.of(*((domain.before(low + reach), high) for low, high in closed))

    @property
    def gone(self) -> IntervalSet:
        """The ids of the windows that nothing revises any more."""
        shifted = ((low, high - self.layout.revise) for low, high in self.everywhere)
        return self.windows(IntervalSet.of(*shifted))

    @property
    def anywhere(self) -> IntervalSet:
        """What is closed for at least one group."""
        closed = self.everywhere
        for interval in self.patterns.values():
            closed = closed.union(interval)
        return closed

    def windows(self, closed: IntervalSet) -> IntervalSet:
        """The ids of the windows that a closed set of ticks closes."""
        return self.layout.spec.windows_in(closed)

    def to_bytes(self) -> bytes:
        patterns = [
            [[[name, p.to_json()] for name, p in pattern], closed.to_json()]
            for pattern, closed in self.patterns.items()
        ]
        parts = {"everywhere": self.everywhere.to_json(), "patterns": patterns}
        return json.dumps(parts, default=str).encode()

    @staticmethod
    def from_bytes(layout: Layout, stored: bytes | None) -> Closed:
        if stored is None:
            return Closed(layout)
        parts: dict[str, Any] = json.loads(stored)
        patterns = {
            tuple((name, Predicate.from_json(p)) for name, p in pattern): IntervalSet.from_json(at)
            for pattern, at in parts["patterns"]
        }
        return Closed(layout, IntervalSet.from_json(parts["everywhere"]), patterns)

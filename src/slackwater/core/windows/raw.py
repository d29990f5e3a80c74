"""Windows that slide on every tuple: over a stretch of the WATTR, or over so many tuples.

Tuples wait in the slack buffer until the heartbeat passes them; then each gets the result
of the window that ends with it. What later windows still need stays in the window buffer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.contract import Context
from slackwater.core.elements import Element, Page, Prod, Punctuation
from slackwater.core.grouping import Groups, group
from slackwater.core.intervals import NOTHING, Bound, IntervalSet
from slackwater.core.state import State, ValueCell
from slackwater.core.time import Ticks
from slackwater.core.windows.arithmetic import Ids
from slackwater.core.windows.history import History
from slackwater.core.windows.layout import Aggregation, concat
from slackwater.core.windows.ranges import merged_ranges
from slackwater.core.windows.slots import SlackBuffer

FINAL, LATE = "final", "late"
PLACES = 64
"""How finely MAX FUTURE looks at a raw window: in parts of its RANGE."""


@dataclass(frozen=True, kw_only=True)
class RawLayout(Aggregation):
    """An aggregation over the tuples themselves, a result for each.

    The keys in ``partition`` say among which tuples a counted window counts.
    """

    range: int | float
    input_types: tuple[pa.DataType, ...]
    counted: bool = False
    partition: tuple[int, ...] = ()

    @cached_property
    def page_schema(self) -> pa.Schema:
        """A page of tuples: the tick, the keys, the arguments."""
        tick = pa.float64() if self.domain.is_float else pa.int64()
        inputs = [pa.field(f"c{i}", type_) for i, type_ in enumerate(self.input_types)]
        return pa.schema([pa.field("tick", tick), *self._key_fields, *inputs])

    def page_of(self, ticks: Ticks, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays([pa.array(ticks), *columns], schema=self.page_schema)

    def combined(self, pages: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        return concat(pages, self.page_schema)

    def places(self, page: pa.RecordBatch) -> Ids:
        return self.pane_of(page.column(0).to_numpy())

    def pane_of(self, ticks: Ticks) -> Ids:
        """A coarse place on the WATTR; a counted window knows no stretch, so ticks will do."""
        width = 1 if self.counted else max(self.range / PLACES, 0 if self.domain.is_float else 1)
        return np.floor(ticks / width).astype(np.int64)

    def dealt_by(self, page: pa.RecordBatch) -> list[pa.Array]:
        """Counted windows go by partition, so that all that count together are together."""
        return self.partition_of(page) if self.counted else self.keys_of(page)

    def partition_of(self, page: pa.RecordBatch) -> list[pa.Array]:
        return [page.column(1 + place) for place in self.partition]

    def keys_of(self, page: pa.RecordBatch) -> list[pa.Array]:
        return page.columns[1 : 1 + len(self.keys)]

    def inputs_of(self, page: pa.RecordBatch) -> list[pa.Array]:
        return page.columns[1 + len(self.keys) :]


@dataclass
class RawWindows:
    """Slack buffer, window buffer, and a result for each tuple that is released.

    Needs: tuples with their ticks, punctuations on the WATTR; tuples in any order
    Time: 2 log2(tuples in a window) merges for each tuple, all tuples of a batch at once
    Space: the tuples within the slack and within one RANGE
    From: Kim 2010, section 3 (slack buffer and window buffer)
    """

    layout: RawLayout
    late: int = 0
    in_no_window: int = 0
    revised: int = 0

    def open(self, state: State, context: Context) -> None:
        self._cell = ValueCell(state, "closed")
        self._closed = IntervalSet.from_json(_json(self._cell.get()))
        self._at_start = self.heartbeat
        self._slack = SlackBuffer(state, "slack", self.layout.page_schema)
        self._history = History(state, "window", self.layout.page_schema)

    def process(self, page: Page) -> Iterable[Element]:
        """Tuples wait in the slack buffer; those below the heartbeat come back at once."""
        late = page.column(0).to_numpy() < self._at_start
        if not late.any():
            self._slack.place(page)
            return
        self._slack.place(page.filter(pa.array(~late)))
        self.late += int(late.sum())
        yield self._late_rows(page.filter(pa.array(late)))

    def settle(self) -> Iterable[Element]:
        """Nothing to add: a window of a tuple is not revised."""
        return ()

    def prod(self, prod: Prod) -> Iterable[Element]:
        """A tuple that waits has no window yet, so there is nothing to show early."""
        yield prod

    def advance(self, punctuation: Punctuation) -> Iterable[Element]:
        """Release what the heartbeat has passed; what speaks of single groups only passes on."""
        if not punctuation.groups:
            before = self.heartbeat
            self._closed = self._closed.union(punctuation.time)
            if self.heartbeat > before:
                yield from self._release()
        yield punctuation

    def flush(self) -> None:
        self._slack.flush()
        self._history.flush()
        self._cell.set(_bytes(self._closed))

    def closed_for_next_stage(self, passing: Mapping[str, str]) -> Iterable[Punctuation]:
        yield Punctuation(IntervalSet.of((-np.inf, self.heartbeat)))

    @property
    def heartbeat(self) -> Bound:
        return self._closed.frontier

    def _release(self) -> Iterable[pa.RecordBatch]:
        released = self._slack.release(self.heartbeat)
        if released.num_rows:
            before = self._history.page()
            page = concat([before, released], self.layout.page_schema)
            yield self._results(page, before.num_rows)
            self._history.extend(released)
        if len(self._history):
            self._history.keep(self._needed(self._history.page()))

    def _needed(self, page: pa.RecordBatch) -> npt.NDArray[np.bool_]:
        """Which of the released tuples a later window may hold."""
        if not self.layout.counted:
            return page.column(0).to_numpy() > self.heartbeat - self.layout.range
        codes, count = _codes(self.layout.partition_of(page), page.num_rows)
        sizes = np.bincount(codes, minlength=count)
        return _positions(codes) > sizes[codes] - self.layout.range

    def _results(self, page: pa.RecordBatch, first: int) -> pa.RecordBatch:
        """A row for each tuple from ``first`` on, over the window that ends with it."""
        layout = self.layout
        ticks = page.column(0).to_numpy()
        codes, _ = _codes(layout.keys_of(page), page.num_rows)
        places: Ticks = ticks
        if layout.counted:
            partitions, _ = _codes(layout.partition_of(page), page.num_rows)
            places = _positions(partitions)
        order = np.argsort(codes, kind="stable")
        fresh = np.flatnonzero(order >= first)
        starts, ends = _spans(codes[order], places[order], layout.range, fresh)
        partials = self._lifted(page.take(pa.array(order)))
        rows = np.argsort(order[fresh], kind="stable")
        fresh, starts, ends = fresh[rows], starts[rows], ends[rows]
        merged = merged_ranges(layout, partials, starts, ends)
        sorted_ticks = ticks[order]
        lows = sorted_ticks[starts] if layout.counted else sorted_ticks[fresh] - layout.range
        keys = [column.take(pa.array(order[fresh])) for column in layout.keys_of(page)]
        return self._finish(lows, sorted_ticks[fresh], FINAL, keys, ends - starts, merged)

    def _lifted(self, page: pa.RecordBatch) -> list[pa.Array]:
        rows = page.num_rows
        each = Groups(np.arange(rows), rows, np.ones(rows, dtype=np.int64))
        ticks = page.column(0).to_numpy()
        return self.layout.lift_groups(each, ticks, self.layout.inputs_of(page))

    def _late_rows(self, page: pa.RecordBatch) -> pa.RecordBatch:
        ticks = page.column(0).to_numpy()
        groups, (found, *keys) = group([page.column(0), *self.layout.keys_of(page)])
        partials = self.layout.lift_groups(groups, ticks, self.layout.inputs_of(page))
        ends = np.asarray(found)
        lows = ends if self.layout.counted else ends - self.layout.range
        return self._finish(lows, ends, LATE, keys, groups.sizes, partials)

    def _finish(
        self, lows: Ticks, highs: Ticks, kind: str,
        keys: Sequence[pa.Array], tuples: Ids, partials: Sequence[pa.Array],
    ) -> pa.RecordBatch:  # fmt: skip
        columns = [*keys, pa.array(tuples), *partials]
        page = pa.RecordBatch.from_arrays(columns, schema=self.layout.partial_schema)
        return self.layout.finish(lows, highs, kind, page)


def _codes(columns: Sequence[pa.Array], rows: int) -> tuple[Ids, int]:
    if not columns:
        return np.zeros(rows, dtype=np.int64), 1
    groups, _ = group(columns)
    return groups.codes, groups.count


def _positions(codes: Ids) -> Ids:
    """The place of each row among the rows of its own code."""
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    within = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    positions = np.empty(len(codes), dtype=np.int64)
    positions[order] = within
    return positions


def _spans(codes: Ids, places: Ticks, range_: Bound, rows: Ids) -> tuple[Ids, Ids]:
    """For some rows the span of rows of the same code with a place in ``(own - RANGE, own]``.

    Rows are sorted by code and then place. Code and rank of place make one integer.
    """
    distinct = np.unique(places)
    width = len(distinct) + 1
    keys = codes * width + np.searchsorted(distinct, places)
    bases = codes[rows] * width
    lows = bases + np.searchsorted(distinct, places[rows] - range_, side="right")
    highs = bases + np.searchsorted(distinct, places[rows], side="right")
    return np.searchsorted(keys, lows), np.searchsorted(keys, highs)


def _json(stored: bytes | None) -> list[list[Bound]]:
    return json.loads(stored) if stored else NOTHING.to_json()


def _bytes(closed: IntervalSet) -> bytes:
    return json.dumps(closed.to_json()).encode()

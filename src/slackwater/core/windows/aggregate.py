"""The window aggregate: one operator over the pane log, for any window and any aggregate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from slackwater.core.contract import Context
from slackwater.core.elements import Element, Page, Prod, Punctuation
from slackwater.core.grouping import group
from slackwater.core.intervals import IntervalSet
from slackwater.core.state import State, ValueCell
from slackwater.core.windows.arithmetic import Ids
from slackwater.core.windows.closing import Closed, Rows
from slackwater.core.windows.layout import Layout, split_pane
from slackwater.core.windows.panelog import PaneLog

FINAL, LATE, EARLY, REVISED = "final", "late", "early", "revised"


@dataclass
class WindowAggregate:
    """Takes pages of partials, keeps them by pane, and emits each window once it is closed.

    Needs: partials from the pane aggregate, punctuations; tuples in any order
    Time: one append per pane and batch; 2 log2(RANGE / pane) merges per window that closes
    Space: about 2 (RANGE + SLIDE) / pane rows per group, plus the panes within the slack
    From: Bhat 2011, chapters 2 and 3 (panes, punctuations, prods, rule R1)
    """

    layout: Layout
    late: int = 0
    in_no_window: int = 0
    revised: int = 0
    _touched: list[tuple[Ids, list[pa.Array]]] = field(default_factory=list)

    def open(self, state: State, context: Context) -> None:
        self._cell = ValueCell(state, "closed")
        self._closed = Closed.from_bytes(self.layout, self._cell.get())
        self._panes = PaneLog(self.layout, state)
        self._at_start = self._closed
        self._gone = self._closed.gone

    def process(self, page: Page) -> Iterable[Element]:
        """Put partials into their panes; what is late for every window comes back at once."""
        panes, partials = split_pane(page)
        spec = self.layout.spec
        first, end = spec.first_window(panes), spec.last_window(panes) + 1
        outside = first >= end
        late = self._at_start.covers_each(first, end, self.layout.key_columns(partials)) & ~outside
        tuples = np.asarray(partials.column("tuples"))
        if self.layout.revise:
            revised = late & ~self._gone.covers_each(first, end)
            late &= ~revised
            self.revised += int(tuples[revised].sum())
            self._touched.append((panes, self.layout.key_columns(partials)))
        self._keep(panes, partials, ~(late | outside))
        self.in_no_window += int(tuples[outside].sum())
        self.late += int(tuples[late].sum())
        if late.any():
            yield self._late_rows(panes[late], partials.filter(pa.array(late)))

    def settle(self) -> Iterable[Element]:
        """After the last page of a batch: closed windows that it changed come out again."""
        if self._touched:
            panes, keys = zip(*self._touched, strict=True)
            columns = [pa.concat_arrays(parts) for parts in zip(*keys, strict=True)]
            yield from self._revise(np.concatenate(panes), columns)
        self._touched = []

    def prod(self, prod: Prod) -> Iterable[Element]:
        """Emit what is known of the open windows that match, and keep it: this is the top (R1)."""
        asked = self._closed.windows(prod.time)
        pattern = tuple(prod.groups.items())
        for ids, partials in self._evaluate(asked):
            keys = self.layout.key_columns(partials)
            wanted = self._closed.matches(pattern, keys, len(ids))
            wanted &= ~self._closed.covers(ids, keys)
            yield from self._rows(ids, partials, wanted, EARLY)
        yield prod

    def advance(self, punctuation: Punctuation) -> Iterable[Element]:
        """Close what the punctuation covers, emit it, and purge what nothing needs any more."""
        before, after = self._closed, self._closed.with_punctuation(punctuation)
        spec = self.layout.spec
        closed_before = before.windows(before.everywhere)
        sealed = spec.panes_in(after.everywhere)
        live = spec.windows_of(np.array(self._panes.live_panes(), dtype=np.int64))
        still_open = live.minus(closed_before)
        newly_sealed = sealed.minus(spec.panes_in(before.everywhere))
        self._panes.seal(newly_sealed, sealed, spec.panes_of(still_open))
        closing = after.windows(after.anywhere)
        for ids, partials in self._evaluate(closing.minus(closed_before)):
            keys = self.layout.key_columns(partials)
            wanted = after.covers(ids, keys) & ~before.covers(ids, keys)
            yield from self._rows(ids, partials, wanted, FINAL)
        self._closed = after
        self._purge()
        yield punctuation

    def flush(self) -> None:
        self._panes.flush()
        self._cell.set(self._closed.to_bytes())

    def closed_for_next_stage(self, passing: Mapping[str, str]) -> Iterator[Punctuation]:
        return self._closed.for_next_stage(passing)

    @property
    def heartbeat(self) -> int | float:
        return self._closed.everywhere.frontier

    def _keep(self, panes: Ids, partials: pa.RecordBatch, rows: Rows) -> None:
        if not rows.all():
            panes, partials = panes[rows], partials.filter(pa.array(rows))
        if len(panes) == 0:
            return
        if (panes[1:] < panes[:-1]).any():
            order = np.argsort(panes, kind="stable")
            panes, partials = panes[order], partials.take(pa.array(order))
        starts = np.flatnonzero(np.diff(panes, prepend=panes[0] - 1))
        ends = np.append(starts[1:], len(panes))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            self._panes.append(int(panes[start]), partials.slice(start, end - start))

    def _late_rows(self, panes: Ids, partials: pa.RecordBatch) -> pa.RecordBatch:
        spec = self.layout.spec
        return self.layout.finish(spec.edge(panes), spec.edge(panes + 1), LATE, partials)

    def _evaluate(self, windows: IntervalSet) -> Iterator[tuple[Ids, pa.RecordBatch]]:
        """Merged partials of the windows that hold anything, as pages of (window id, rows)."""
        spec = self.layout.spec
        panes = self._panes.live_panes()
        live = spec.windows_of(np.array(panes, dtype=np.int64))
        ids = live.intersection(windows).integers()
        firsts, ends = spec.first_pane(ids).tolist(), spec.end_pane(ids).tolist()
        wanted = [
            (id_, list(self._panes.nodes_of(panes, first, end)))
            for id_, first, end in zip(ids.tolist(), firsts, ends, strict=True)
        ]
        yield from self._panes.merge_many(wanted)

    def _revise(self, panes: Ids, keys: Sequence[pa.Array]) -> Iterator[pa.RecordBatch]:
        """The windows of some partials that were closed as the batch began, and are kept."""
        spec = self.layout.spec
        first, end = spec.first_window(panes), spec.last_window(panes) + 1
        sizes = np.maximum(end - first, 0)
        rows = np.repeat(np.arange(len(panes)), sizes)
        windows = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[rows]
        keys = [column.take(pa.array(rows)) for column in keys]
        closed = self._at_start.covers(windows, keys)
        closed &= ~self._gone.covers_each(windows, windows + 1)
        if not closed.any():
            return
        windows, keys = windows[closed], [column.filter(pa.array(closed)) for column in keys]
        spans = IntervalSet.of(*((id_, id_ + 1) for id_ in np.unique(windows).tolist()))
        for ids, partials in self._evaluate(spans):
            found = self.layout.key_columns(partials)
            yield from self._rows(ids, partials, _among(ids, found, windows, keys), REVISED)

    def _rows(
        self, ids: Ids, partials: pa.RecordBatch, wanted: Rows, kind: str
    ) -> Iterator[pa.RecordBatch]:
        if not wanted.all():
            ids, partials = ids[wanted], partials.filter(pa.array(wanted))
        if len(ids):
            starts, ends = self.layout.window_bounds(ids)
            yield self.layout.finish(starts, ends, kind, partials)

    def _purge(self) -> None:
        first_open = self._closed.gone.frontier
        spec = self.layout.spec
        self._panes.drop_before((first_open + 1) * spec.panes_per_slide - spec.panes_per_window)
        if self._closed.patterns and not self.layout.revise:
            self._purge_groups()

    def _purge_groups(self) -> None:
        """Take the rows of groups out of nodes that no window open for them reaches."""
        spec = self.layout.spec
        for node in self._panes.nodes():
            level, index = node
            span = np.array([index << level, ((index + 1) << level) - 1])
            first, end = spec.first_window(span)[0], spec.last_window(span)[1] + 1
            partials = self._panes.read(node)
            rows = np.zeros(partials.num_rows, dtype=np.int64)
            done = self._closed.covers_each(
                rows + first, rows + end, self.layout.key_columns(partials)
            )
            if done.any():
                self._panes.replace(node, partials.filter(pa.array(~done)))


def _among(ids: Ids, keys: Sequence[pa.Array], others: Ids, other_keys: Sequence[pa.Array]) -> Rows:
    """Which rows, an id and keys each, are among some others."""
    both = [pa.concat_arrays([a, b]) for a, b in zip(keys, other_keys, strict=True)]
    groups, _ = group([np.concatenate([ids, others]), *both])
    wanted = np.zeros(groups.count, dtype=bool)
    wanted[groups.codes[len(ids) :]] = True
    return wanted[groups.codes[: len(ids)]]

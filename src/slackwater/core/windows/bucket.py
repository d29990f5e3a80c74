"""The stateless front: tuples to panes, panes to partials (Bhat 2011, sections 2.2 and 2.3).

Each map task runs one ``Ingest`` over its part of a micro-batch. It is the Bucket and the
pane aggregate in one; the end of the task is the prod that makes it emit and purge (R1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.disorder.summary import Summary
from slackwater.core.envelope import Envelope, Kind, page_payload, to_every_shard
from slackwater.core.grouping import group
from slackwater.core.hashing import shard_of
from slackwater.core.time import Ticks
from slackwater.core.windows.operators import AnyLayout

ROWS_HELD = 1_000_000
ROWS_PER_ENVELOPE = 200_000


@dataclass
class Ingest:
    """One task's front: tuples in, partials by pane and group and a summary out.

    ``count_panes`` is needed where MAX FUTURE is in force.

    Needs: Arrow pages with the WATTR first; tuples in any order
    Time: one grouped pass over each page
    Space: no state; the partials of one task's part of a micro-batch
    From: Bhat 2011, sections 2.2 and 2.3 (Bucket, panes), rule R1
    """

    layout: AnyLayout
    shards: int
    count_panes: bool = False
    _held: list[pa.RecordBatch] = field(default_factory=list)
    _summaries: list[Summary] = field(default_factory=list)

    def run(self, pages: Iterable[pa.RecordBatch]) -> Iterator[Envelope]:
        """All envelopes of one task: partials for their shards, then a summary for each."""
        for page in pages:
            self._take(page)
            if sum(partials.num_rows for partials in self._held) > ROWS_HELD:
                yield from self._emit()
        yield from self._emit()
        summary = Summary.together(self._summaries)
        yield from to_every_shard(Kind.SUMMARY, summary.to_bytes(), self.shards)

    def _take(self, page: pa.RecordBatch) -> None:
        ticks, usable = self.layout.ticks(page.column(0))
        unusable = len(usable) - int(usable.sum())
        null = page.column(0).null_count
        columns = page.columns[1:]
        wanted = usable
        if self.layout.filtered:
            keep = np.asarray(columns.pop(0).fill_null(False))
            wanted = usable & keep
        self._summaries.append(
            Summary(
                tuples=len(usable),
                filtered=int(usable.sum() - wanted.sum()),
                null=null,
                not_a_number=unusable - null,
                high=_high(ticks, usable),
                panes=self._pane_counts(ticks[usable]) if self.count_panes else (),
            )
        )
        if not wanted.all():
            ticks = ticks[wanted]
            columns = [column.filter(pa.array(wanted)) for column in columns]
        if len(ticks):
            self._held.append(self.layout.page_of(ticks, columns))

    def _pane_counts(self, ticks: Ticks) -> tuple[tuple[int, int, int | float], ...]:
        panes = self.layout.pane_of(ticks)
        groups, (ids,) = group([panes])
        highs = np.full(groups.count, ticks.min(initial=0), dtype=ticks.dtype)
        np.maximum.at(highs, groups.codes, ticks)
        rows = zip(np.asarray(ids).tolist(), groups.sizes.tolist(), highs.tolist(), strict=True)
        return tuple(rows)

    def _emit(self) -> Iterator[Envelope]:
        if not self._held:
            return
        page = self.layout.combined(self._held)
        self._held = []
        yield from deal(self.layout, page, self.shards)


def deal(layout: AnyLayout, page: pa.RecordBatch, shards: int) -> Iterator[Envelope]:
    """A page's rows to the shards of their keys, in envelopes of bounded size."""
    shard = shard_of(layout.dealt_by(page), page.num_rows, shards)
    for index in range(shards):
        rows = np.flatnonzero(shard == index) if shards > 1 else None
        if rows is not None and len(rows) == 0:
            continue
        part = page if rows is None else page.take(pa.array(rows))
        for start in range(0, part.num_rows, ROWS_PER_ENVELOPE):
            piece = part.slice(start, ROWS_PER_ENVELOPE)
            yield Envelope(index, Kind.PAGE, page_payload(piece))


def _high(ticks: Ticks, usable: npt.NDArray[np.bool_]) -> int | float | None:
    if not usable.any():
        return None
    return (ticks if usable.all() else ticks[usable]).max().item()

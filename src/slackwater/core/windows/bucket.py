"""The stateless front: tuples to panes, panes to partials (Bhat 2011, sections 2.2 and 2.3).

Each map task runs one ``Ingest`` over its part of a micro-batch. It is the Bucket and the
pane aggregate in one; the end of the task is the prod that makes it emit and purge (R1).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.disorder.batch import Moments
from slackwater.core.disorder.spread import SAMPLE, spread_of
from slackwater.core.disorder.summary import Summary, Watch
from slackwater.core.envelope import Envelope, Kind, page_payload, to_every_shard
from slackwater.core.grouping import group
from slackwater.core.hashing import shard_of
from slackwater.core.time import Ticks
from slackwater.core.windows.operators import AnyLayout

Rows = npt.NDArray[np.bool_]
COUNTS_ONLY = Watch()
ROWS_HELD = 1_000_000
ROWS_PER_ENVELOPE = 200_000


@dataclass
class Ingest:
    """One task's front: tuples in, partials by pane and group and a summary out.

    ``watch`` says what the summary has to tell besides counts and the largest tick.

    Needs: Arrow pages with the WATTR first; tuples in any order
    Time: one grouped pass over each page
    Space: no state; the partials of one task's part of a micro-batch
    From: Bhat 2011, sections 2.2 and 2.3 (Bucket, panes), rule R1
    """

    layout: AnyLayout
    shards: int
    watch: Watch = COUNTS_ONLY
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
        null = page.column(0).null_count
        unusable = len(usable) - int(usable.sum())
        columns = page.columns[1:]
        arrivals, usable, future = self._arrivals(columns, ticks, usable)
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
                future=future,
                **self._observed(_of(ticks, usable), _of(arrivals, usable)),
            )
        )
        if not wanted.all():
            ticks = ticks[wanted]
            columns = [column.filter(pa.array(wanted)) for column in columns]
        if len(ticks):
            self._held.append(self.layout.page_of(ticks, columns))

    def _arrivals(
        self, columns: list[pa.Array], ticks: Ticks, usable: Rows
    ) -> tuple[Ticks | None, Rows, int]:
        """When the tuples arrived, and which are not too far ahead of that; a null is unknown."""
        if not self.layout.has_arrival:
            return None, usable, 0
        found, known = self.layout.domain.ticks(columns.pop(0))
        arrivals: Ticks = np.where(known, found, ticks)
        if self.watch.max_future is None:
            return arrivals, usable, 0
        far = usable & (ticks - arrivals > self.watch.max_future)
        return arrivals, usable & ~far, int(far.sum())

    def _observed(self, ticks: Ticks, arrivals: Ticks | None) -> dict[str, Any]:
        """What the summary says of usable tuples: no tuple is from after its arrival."""
        if len(ticks) == 0:
            return {}
        seen: dict[str, Any] = {"high": ticks.max().item()}
        if arrivals is not None:
            ticks = np.minimum(ticks, arrivals)
            seen = {"high": ticks.max().item(), "arrival": arrivals.max().item()}
        if self.watch.panes:
            seen["panes"] = self._pane_counts(ticks)
        if self.watch.spread:
            seen["spreads"] = (spread_of(ticks),)
            if arrivals is not None:
                few = slice(None, None, -(-len(ticks) // SAMPLE))
                delays = (arrivals[few] - ticks[few]).astype(np.float64)
                seen["delays"] = (Moments.of(delays),)
        return seen

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


def _of(ticks: Any, usable: Rows) -> Any:
    return ticks if ticks is None or usable.all() else ticks[usable]

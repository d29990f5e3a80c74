"""What a partial looks like: the columns between the map side, the pane log and the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.aggregates.base import Aggregate
from slackwater.core.grouping import Groups, group
from slackwater.core.intervals import Bound
from slackwater.core.time import Ticks, TimeDomain
from slackwater.core.windows.arithmetic import Ids, WindowSpec

PANE = pa.field("pane", pa.int64())
TUPLES = pa.field("tuples", pa.int64())


@dataclass(frozen=True, kw_only=True)
class Aggregation:
    """What is computed for each group, and the columns of its partials and results.

    An input page has the WATTR first, then the arrival time if ``has_arrival``, then
    ``keep`` (whether WHERE holds) if ``filtered``, then the keys, then the distinct
    argument columns; ``arguments`` says which of these each aggregate takes. A partial has
    the keys, the number of tuples, and each aggregate's partial columns.
    """

    domain: TimeDomain
    keys: tuple[pa.Field, ...]
    aggregates: tuple[Aggregate, ...]
    arguments: tuple[tuple[int, ...], ...]
    filtered: bool = False
    has_arrival: bool = False
    time_is_window_end: bool = False
    """Whether the first column holds window ends: a result's own time is just before."""

    @cached_property
    def partial_schema(self) -> pa.Schema:
        fields = [*self._key_fields, TUPLES]
        for i, aggregate in enumerate(self.aggregates):
            types = enumerate(aggregate.partial_types)
            fields += [pa.field(f"a{i}_{j}", type_) for j, type_ in types]
        return pa.schema(fields)

    @cached_property
    def result_schema(self) -> pa.Schema:
        """What the operator emits; expressions over the aggregates come after it."""
        bound = self.domain.result_type
        window = pa.struct([("start", bound), ("end", bound)])
        aggregates = [
            pa.field(f"a{i}", aggregate.result_type) for i, aggregate in enumerate(self.aggregates)
        ]
        kind = pa.field("kind", pa.string())
        return pa.schema([("window", window), *self._key_fields, *aggregates, kind, TUPLES])

    @cached_property
    def late_schema(self) -> pa.Schema:
        """A late row on its way through a later stage: its window and its number of tuples."""
        return pa.schema([self.result_schema.field("window"), TUPLES])

    @cached_property
    def _key_fields(self) -> list[pa.Field]:
        return [pa.field(f"k{i}", key.type) for i, key in enumerate(self.keys)]

    def key_columns(self, partials: pa.RecordBatch) -> list[pa.Array]:
        """The key columns of a page of partials, with or without its panes."""
        start = partials.num_columns - len(self.partial_schema)
        return partials.columns[start : start + len(self.keys)]

    def ticks(self, column: pa.Array) -> tuple[Ticks, npt.NDArray[np.bool_]]:
        """The ticks of a page's first column, and which are usable."""
        ticks, usable = self.domain.ticks(column)
        near = (ticks < self._furthest) & (ticks > -self._furthest)
        if not near.all():
            ticks, usable = np.where(near, ticks, ticks.dtype.type(0)), usable & near
        return (self.domain.last_before(ticks) if self.time_is_window_end else ticks), usable

    @cached_property
    def _furthest(self) -> Bound:
        """Ticks this far from zero or further cannot be told from their neighbours."""
        return 2.0**53 if self.domain.is_float else 2**62

    def lift_groups(
        self, groups: Groups, ticks: Ticks, inputs: Sequence[pa.Array]
    ) -> list[pa.Array]:
        """The partial columns of every aggregate over groups of tuples."""
        partials: list[pa.Array] = []
        for aggregate, places in zip(self.aggregates, self.arguments, strict=True):
            taken = [inputs[place] for place in places]
            if aggregate.uses_time:
                taken.append(pa.array(ticks))
            partials += aggregate.lift(groups, taken)
        return partials

    def merge_groups(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        """The partial columns of every aggregate, merged by group."""
        merged: list[pa.Array] = []
        at = 0
        for aggregate in self.aggregates:
            count = len(aggregate.partial_types)
            merged += aggregate.merge(groups, partials[at : at + count])
            at += count
        return merged

    def merge(self, ids: Ids, partials: pa.RecordBatch) -> tuple[Ids, pa.RecordBatch]:
        """Merge partials that agree in id and keys; the result is in the order of ids."""
        width = len(self.keys)
        groups, (found_ids, *keys) = group([ids, *partials.columns[:width]])
        if groups.count == len(ids) and _ascending(groups):
            return ids, partials
        tuples = groups.total(np.asarray(partials.column(width)))
        merged = self.merge_groups(groups, partials.columns[width + 1 :])
        columns = [*keys, pa.array(tuples), *merged]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.partial_schema)
        return np.asarray(found_ids), batch

    def finish(
        self, starts: Ticks, ends: Ticks, kind: str, partials: pa.RecordBatch
    ) -> pa.RecordBatch:
        """Result rows from merged partials, one window each."""
        width = len(self.keys)
        window = pa.StructArray.from_arrays(
            [self.domain.values(starts), self.domain.values(ends)],
            fields=list(self.result_schema.field("window").type),
        )
        results: list[pa.Array] = []
        at = width + 1
        for aggregate in self.aggregates:
            count = len(aggregate.partial_types)
            results.append(aggregate.finish(partials.columns[at : at + count]))
            at += count
        kinds = pa.repeat(kind, partials.num_rows)
        keys, tuples = partials.columns[:width], partials.column(width)
        columns = [window, *keys, *results, kinds, tuples]
        return pa.RecordBatch.from_arrays(columns, schema=self.result_schema)


@dataclass(frozen=True, kw_only=True)
class Layout(Aggregation):
    """An aggregation over windows that are made of panes."""

    spec: WindowSpec
    reported_range: Fraction | None = None
    """The RANGE to report, where it is not the one that is evaluated."""
    revise: Bound = 0
    """How far the heartbeat may pass a window that late tuples still revise."""

    @cached_property
    def _furthest(self) -> Bound:
        return 2.0**52 * float(self.spec.pane) if self.domain.is_float else 2**62

    @property
    def rolls_up(self) -> bool:
        """Whether nodes above the panes pay: not where a partial holds every value."""
        return not any(aggregate.holistic for aggregate in self.aggregates)

    @cached_property
    def page_schema(self) -> pa.Schema:
        """A page of partials in an envelope: each with its pane."""
        return pa.schema([PANE, *self.partial_schema])

    def page_of(self, ticks: Ticks, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        """One page of tuples as one page of partials, by pane and keys."""
        return self.lift(self.spec.pane_of(ticks), ticks, columns)

    def combined(self, pages: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        """Pages of partials as one, in which a pane and a group meet once."""
        page = concat(pages, self.page_schema)
        if len(pages) == 1:
            return page
        panes, partials = self.merge(*split_pane(page))
        return pa.RecordBatch.from_arrays(
            [pa.array(panes), *partials.columns], schema=self.page_schema
        )

    def places(self, page: pa.RecordBatch) -> Ids:
        """Where on the WATTR each row of a page lies, in panes."""
        return np.asarray(page.column(0))

    def pane_of(self, ticks: Ticks) -> Ids:
        return self.spec.pane_of(ticks)

    def dealt_by(self, page: pa.RecordBatch) -> list[pa.Array]:
        """The columns that say in which shard a row of a page lives."""
        return self.key_columns(page)

    def lift(self, panes: Ids, ticks: Ticks, columns: Sequence[pa.Array]) -> pa.RecordBatch:
        """Partials by pane and keys, from tuples whose panes are known."""
        keys, inputs = columns[: len(self.keys)], columns[len(self.keys) :]
        groups, (ids, *found) = group([panes, *keys])
        partials = self.lift_groups(groups, ticks, inputs)
        columns_out = [ids, *found, pa.array(groups.sizes), *partials]
        return pa.RecordBatch.from_arrays(columns_out, schema=self.page_schema)

    def window_bounds(self, windows: Ids) -> tuple[Ticks, Ticks]:
        """Start and end of windows as they are reported."""
        ends = self.spec.edge(self.spec.end_pane(windows))
        if self.reported_range is None:
            return self.spec.edge(self.spec.first_pane(windows)), ends
        return self.domain.shifted(ends, -self.reported_range), ends


def split_pane(page: pa.RecordBatch) -> tuple[Ids, pa.RecordBatch]:
    """A page of partials as its panes and the rest."""
    rest = pa.schema(list(page.schema)[1:])
    partials = pa.RecordBatch.from_arrays(page.columns[1:], schema=rest)
    return np.asarray(page.column(0)), partials


def _ascending(groups: Groups) -> bool:
    return bool((groups.codes[1:] > groups.codes[:-1]).all())


def concat(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    """One batch of many."""
    if len(batches) == 1:
        return batches[0]
    table = pa.Table.from_batches(batches, schema).combine_chunks()
    return table.to_batches()[0] if table.num_rows else pa.RecordBatch.from_pylist([], schema)

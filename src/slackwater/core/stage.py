"""One stage of a plan on one shard: disorder control, then the window aggregate.

Both hosts call ``Stage.batch`` once per micro-batch with the envelopes of one shard and
get back result rows, what to tell the next stage, and what to report.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.contract import Context
from slackwater.core.disorder.control import DisorderControl
from slackwater.core.disorder.registry import EstimatorPlan
from slackwater.core.disorder.summary import Summary, Watch, summary_of
from slackwater.core.elements import Element, Prod, Punctuation
from slackwater.core.envelope import Envelope, Kind, read_element, read_page, read_tick
from slackwater.core.intervals import INFINITY, Bound
from slackwater.core.state import State, StateError, ValueCell
from slackwater.core.windows.aggregate import LATE
from slackwater.core.windows.operators import AnyLayout, operator_of


@dataclass(frozen=True)
class StagePlan:
    """What a stage computes; frozen, and sent to wherever it runs."""

    layout: AnyLayout
    estimator: EstimatorPlan | None
    max_future: Bound | None = None
    passing: Mapping[str, str] = field(default_factory=dict)
    """Group columns that the next stage groups by too, and their names there."""

    @property
    def watch(self) -> Watch:
        """What the map side has to look at for this stage."""
        by_arrival = self.layout.has_arrival
        return Watch(
            panes=self.max_future is not None and not by_arrival,
            spread=self.estimator is not None and not self.estimator.is_fixed,
            max_future=self.max_future if by_arrival else None,
        )


@dataclass
class Counts:
    """Running totals of one shard. Over all shards they account for every tuple.

    What concerns the whole stream (input, filtered, null, not_a_number, below, allowed) is
    counted by the first shard only, since every shard hears it. ``below`` is how many
    tuples came below the heartbeat, as the estimator counted them, and ``allowed`` how many
    DRATIO permits.
    """

    input: int = 0
    filtered: int = 0
    null: int = 0
    not_a_number: int = 0
    future: int = 0
    in_no_window: int = 0
    late: int = 0
    revised: int = 0
    late_upstream: int = 0
    below: int = 0
    allowed: int = 0


COUNT_NAMES = tuple(f.name for f in fields(Counts))


@dataclass(frozen=True)
class BatchOutput:
    rows: list[pa.RecordBatch]
    onward: list[Punctuation | Prod]
    """For the next stage, where there is one."""
    counts: Counts
    heartbeat: Bound
    progress: Bound
    slack: float


class Stage:
    """A stage opened over one shard's state, for one micro-batch."""

    def __init__(self, plan: StagePlan, state: State, context: Context) -> None:
        self.plan, self.context = plan, context
        self._control = DisorderControl(plan.estimator, plan.max_future)
        self._control.open(state)
        self._windows = operator_of(plan.layout)
        self._windows.open(state, context)
        self._cell = ValueCell(state, "counts")
        self._counts = self._read_counts()

    def batch(self, envelopes: Iterable[Envelope]) -> BatchOutput:
        """Pages first, then prods, then punctuations: a prod sees all that the batch brought."""
        by_kind: dict[int, list[bytes]] = {kind: [] for kind in Kind}
        for _, kind, payload in envelopes:
            by_kind[kind].append(payload)
        out: list[Element] = []
        summary = summary_of(by_kind[Kind.SUMMARY])
        ceiling = self._control.observe(summary, self._now(by_kind[Kind.TICK]))
        self._count(summary)
        for payload in sorted(by_kind[Kind.PAGE]):
            page = read_page(payload, self.plan.layout.page_schema)
            out += self._windows.process(self._below(page, ceiling))
        out += self._windows.settle()
        out += self._inherited(by_kind[Kind.LATE])
        for payload in by_kind[Kind.PROD]:
            prod = read_element(Kind.PROD, payload, self.plan.layout.domain)
            assert isinstance(prod, Prod)
            out += self._windows.prod(prod)
        for punctuation in self._punctuations(by_kind[Kind.PUNCTUATION]):
            out += self._windows.advance(punctuation)
        return self._output(out)

    def _now(self, ticks: list[bytes]) -> Bound | None:
        domain = self.plan.layout.domain
        return max((read_tick(payload, domain) for payload in ticks), default=None)

    def _punctuations(self, given: list[bytes]) -> Iterator[Punctuation]:
        for payload in sorted(set(given)):
            punctuation = read_element(Kind.PUNCTUATION, payload, self.plan.layout.domain)
            assert isinstance(punctuation, Punctuation)
            yield punctuation
        if self._control.heartbeat > self._windows.heartbeat:
            yield Punctuation.heartbeat(self._control.heartbeat)

    def _below(self, page: pa.RecordBatch, ceiling: Bound) -> pa.RecordBatch:
        """A page without the partials that are too far in the future, which are counted."""
        if ceiling == INFINITY:
            return page
        near = self.plan.layout.places(page) <= ceiling
        self._counts.future += _tuples(page, ~near)
        return page.filter(pa.array(near))

    def _inherited(self, payloads: list[bytes]) -> Iterator[pa.RecordBatch]:
        """Late rows of the stage before: passed on with their window and count alone."""
        schema = self.plan.layout.result_schema
        for payload in payloads:
            page = read_page(payload, self.plan.layout.late_schema)
            columns = {"window": page.column(0), "tuples": page.column(1)}
            columns["kind"] = pa.repeat(LATE, page.num_rows)
            self._counts.late_upstream += int(np.asarray(page.column(1)).sum())
            arrays = [columns.get(f.name, pa.nulls(page.num_rows, f.type)) for f in schema]
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _count(self, summary: Summary) -> None:
        if self.context.shard != 0:
            return
        self._counts.input += summary.tuples
        self._counts.filtered += summary.filtered
        self._counts.null += summary.null
        self._counts.not_a_number += summary.not_a_number
        self._counts.future += summary.future
        plan = self.plan.estimator
        if plan is not None and plan.is_steered:
            self._counts.below = round(self._control.below)
            self._counts.allowed = int(plan.drop_share * self._control.tuples)

    def _output(self, elements: list[Element]) -> BatchOutput:
        self._counts.late += self._windows.late
        self._counts.revised += self._windows.revised
        self._counts.in_no_window += self._windows.in_no_window
        self._control.flush()
        self._windows.flush()
        facts = asdict(self._counts) | {"shards": self.context.shards}
        self._cell.set(json.dumps(facts).encode())
        return BatchOutput(
            rows=[e for e in elements if isinstance(e, pa.RecordBatch)],
            onward=[
                *(e for e in elements if isinstance(e, Prod)),
                *self._windows.closed_for_next_stage(self.plan.passing),
            ],
            counts=self._counts,
            heartbeat=self._windows.heartbeat,
            progress=self._control.progress,
            slack=self._control.slack,
        )

    def _read_counts(self) -> Counts:
        stored = self._cell.get()
        if stored is None:
            return Counts()
        facts = json.loads(stored)
        shards = facts.pop("shards")
        if shards != self.context.shards:
            raise StateError(
                f"this checkpoint was written with {shards} shards, and the query now has "
                f"{self.context.shards}; restart it with shards={shards}, or from a new checkpoint"
            )
        return Counts(**facts)


def _tuples(page: pa.RecordBatch, rows: npt.NDArray[np.bool_]) -> int:
    """How many tuples some rows of a page stand for."""
    if "tuples" not in page.schema.names:
        return int(rows.sum())
    return int(np.asarray(page.column("tuples"))[rows].sum())

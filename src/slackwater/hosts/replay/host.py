"""Micro-batches without Spark: what a batch brings goes through the same stages, shard by shard.

Every batch opens the stages anew over their cells, as Spark does, so whatever replay
shows has survived a restart between any two batches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from slackwater.control import heartbeat_predicate
from slackwater.core.contract import Context
from slackwater.core.elements import Predicate
from slackwater.core.envelope import (
    Envelope,
    Kind,
    element_payload,
    page_payload,
    read_element,
    read_tick,
    tick_payload,
    to_every_shard,
    written_payload,
)
from slackwater.core.stage import BatchOutput, Stage
from slackwater.core.state import MemoryState
from slackwater.core.windows.aggregate import FINAL, LATE
from slackwater.core.windows.bucket import Ingest
from slackwater.errors import JobError
from slackwater.hosts.replay.expressions import Expressions
from slackwater.observe.report import Report, report_of
from slackwater.plan.stages import Plan, QueryStage


class Snapshot(NamedTuple):
    """All state of a replay between two batches."""

    states: list[list[MemoryState]]
    report: Report


class Replay:
    """A running query in process: feed it micro-batches, get result tables."""

    def __init__(self, plan: Plan, expressions: Expressions, shards: int = 1) -> None:
        if not isinstance(shards, int) or shards < 1:
            raise JobError(f"shards={shards!r}: give a whole number, at least 1")
        self.plan, self.shards = plan, shards
        self._expressions = expressions
        self._states = [[MemoryState() for _ in range(shards)] for _ in plan.stages]
        self._report = Report()

    @property
    def report(self) -> Report:
        """What became of every tuple so far, and how far the heartbeat is."""
        return self._report

    def feed(self, page: pa.Table | pa.RecordBatch) -> pa.Table:
        """One page as one micro-batch."""
        return self.batch([page])

    def heartbeat(self, value: object) -> pa.Table:
        """From outside: no later tuple is below ``value``."""
        return self.punctuate(heartbeat_predicate(value))

    def punctuate(self, time: Predicate, groups: Mapping[str, Predicate] | None = None) -> pa.Table:
        """From outside: no later tuple matches, on the WATTR and on group columns."""
        return self.batch([], [self._control(Kind.PUNCTUATION, time, groups or {})])

    def prod(self, time: Predicate, groups: Mapping[str, Predicate] | None = None) -> pa.Table:
        """Ask for results now: what is known of the open windows that match."""
        return self.batch([], [self._control(Kind.PROD, time, groups or {})])

    def tick(self, now: Any) -> pa.Table:
        """A moment on the clock of the arrivals, so that time goes on while no tuple comes."""
        domain = self.plan.stages[0].core.layout.domain
        payload = tick_payload(now)
        try:
            read_tick(payload, domain)
        except (ValueError, TypeError, OverflowError) as error:
            raise JobError(f"a tick is a moment of the WATTR's type: {error}") from None
        return self.batch([], [(Kind.TICK, payload)])

    def drain(self) -> pa.Table:
        """Close every window: the input has ended."""
        return self.punctuate(Predicate())

    def batch(
        self, pages: Sequence[pa.Table | pa.RecordBatch], control: Iterable[tuple[Kind, bytes]] = ()
    ) -> pa.Table:
        """One micro-batch: pages, then what the control source brought."""
        tables = [self._checked(page) for page in pages]
        table = pa.concat_tables(tables) if tables else None
        pending = [
            envelope
            for kind, payload in control
            for envelope in to_every_shard(kind, payload, self.shards)
        ]
        for number, stage in enumerate(self.plan.stages):
            if table is not None:
                pending += self._ingest(stage, table)
            outputs = self._run(number, pending)
            if number == 0:
                self._report = report_of(
                    [o.counts for o in outputs], outputs[0].heartbeat, outputs[0].progress,
                    outputs[0].slack, stage.core.layout.domain,
                )  # fmt: skip
            rows = self._results(stage, outputs)
            table, pending = self._onward(rows, outputs)
        return rows

    def snapshot(self) -> Snapshot:
        """A copy of all state, for tests that restart from it."""
        return copy.deepcopy(Snapshot(self._states, self._report))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to what was copied, or take over from another replay of the same plan."""
        self._states, self._report = copy.deepcopy(snapshot)
        self.shards = len(self._states[0])

    def _control(
        self, kind: Kind, time: Predicate, groups: Mapping[str, Predicate]
    ) -> tuple[Kind, bytes]:
        """A punctuation or prod on its way in; what does not fit the query is refused here."""
        layout = self.plan.stages[0].core.layout
        types = {key.name: key.type for key in layout.keys}
        place = f"WATTR {self.plan.stages[0].inputs[0]} ({layout.domain.type})"
        try:
            payload = written_payload(time, groups)
            element = read_element(kind, payload, layout.domain)
            for name, predicate in element.groups.items():
                if name not in types:
                    known = ", ".join(types) or "nothing"
                    raise JobError(f"this query groups by {known}, not by {name!r}")
                place = f"group column {name!r} ({types[name]})"
                predicate.matches(pa.array([], types[name]))
        except (ValueError, TypeError, OverflowError, AttributeError, pa.ArrowException) as error:
            raise JobError(f"this does not fit {place}: {error}") from None
        return kind, payload

    def _checked(self, page: pa.Table | pa.RecordBatch) -> pa.Table:
        table = pa.Table.from_batches([page]) if isinstance(page, pa.RecordBatch) else page
        if not isinstance(table, pa.Table):
            raise JobError(f"a page is a pyarrow Table or RecordBatch, not {type(page).__name__}")
        wanted = self.plan.stages[0].source_schema
        missing = [name for name in wanted.names if name not in table.schema.names]
        if missing:
            raise JobError(
                f"a page of stream {self.plan.stream} has no column {missing[0]!r}; "
                f"it has {', '.join(table.schema.names)}"
            )
        columns = [_cast(table.column(field.name), field) for field in wanted]
        return pa.Table.from_arrays(columns, schema=wanted)

    def _ingest(self, stage: QueryStage, table: pa.Table) -> list[Envelope]:
        layout = stage.core.layout
        if stage.where and not layout.filtered:
            table = self._expressions.filter(table, stage.where)
        arrays = self._expressions.evaluate(table, stage.inputs)
        page = pa.RecordBatch.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))])
        ingest = Ingest(layout, self.shards, stage.core.watch)
        return list(ingest.run([page]))

    def _run(self, number: int, envelopes: Sequence[Envelope]) -> list[BatchOutput]:
        core = self.plan.stages[number].core
        outputs = []
        for shard, state in enumerate(self._states[number]):
            stage = Stage(core, state, Context(shard, self.shards))
            outputs.append(stage.batch(e for e in envelopes if e.shard == shard))
        return outputs

    def _results(self, stage: QueryStage, outputs: Sequence[BatchOutput]) -> pa.Table:
        rows = [batch for output in outputs for batch in output.rows]
        table = pa.Table.from_batches(rows, stage.core.layout.result_schema)
        if stage.having:
            table = self._expressions.filter(table, f"kind = '{LATE}' OR ({stage.having})")
        columns = self._expressions.evaluate(table, [o.sql for o in stage.outputs])
        own = [table.column(name) for name in ("window", "kind", "tuples")]
        arrays = [own[0], *columns, *own[1:]]
        return pa.Table.from_arrays(arrays, schema=stage.result_schema)

    def _onward(
        self, rows: pa.Table, outputs: Sequence[BatchOutput]
    ) -> tuple[pa.Table, list[Envelope]]:
        """What the next stage takes: final rows as its input, late rows and punctuations."""
        kinds = rows.column("kind").to_numpy(zero_copy_only=False)
        late = rows.filter(pa.array(kinds == LATE)).select(["window", "tuples"]).combine_chunks()
        pending = [Envelope(0, Kind.LATE, page_payload(batch)) for batch in late.to_batches()]
        for element in outputs[0].onward:
            kind, payload = element_payload(element)
            pending += to_every_shard(kind, payload, self.shards)
        return rows.filter(pa.array(kinds == FINAL)), pending


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return column.cast(field.type)
    except pa.ArrowException as error:
        raise JobError(
            f"column {field.name!r} of a page is {column.type}, "
            f"and the query was planned for {field.type}: {error}"
        ) from None

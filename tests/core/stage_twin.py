"""A core stage and its naive twin, driven side by side through the same micro-batches.

``Shape`` says what stage, ``Batch`` what a micro-batch brings; ``CoreDriver`` runs Ingest
and Stage over memory state, ``twin_of`` gives the NaiveStage, and ``shapes`` and
``histories`` draw both for hypothesis.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from slackwater.core.aggregates import make
from slackwater.core.contract import Context
from slackwater.core.disorder.registry import EstimatorPlan
from slackwater.core.elements import Predicate
from slackwater.core.envelope import Envelope, Kind, to_every_shard, written_payload
from slackwater.core.reference import windows as naive
from slackwater.core.reference.aggregates import evaluate
from slackwater.core.stage import BatchOutput, Stage, StagePlan
from slackwater.core.state import MemoryState
from slackwater.core.time import TimeDomain
from slackwater.core.windows.arithmetic import WindowSpec
from slackwater.core.windows.bucket import Ingest
from slackwater.core.windows.layout import Layout

NAN = math.nan
FUNCTIONS = ("COUNT", "COUNT", "SUM", "MIN", "MAX", "LAST")
"""COUNT(*), then COUNT, SUM, MIN, MAX and LAST of the one argument."""


@dataclass(frozen=True)
class Shape:
    """A stage over tuples (tick, keep, g, s, v), grouped by g and s."""

    type: pa.DataType
    range: Fraction
    slide: Fraction
    slack: int | float | None = None
    max_future: int | float | None = None
    filtered: bool = False

    @property
    def domain(self) -> TimeDomain:
        return TimeDomain(self.type)

    @property
    def floating(self) -> bool:
        return self.domain.is_float

    @property
    def layout(self) -> Layout:
        time = pa.float64() if self.floating else pa.int64()
        aggregates = [make("COUNT", [], time)]
        aggregates += [make(name, [pa.int64()], time) for name in FUNCTIONS[1:]]
        return Layout(
            spec=WindowSpec(self.range, self.slide, self.floating),
            domain=self.domain,
            keys=(pa.field("g", pa.float64()), pa.field("s", pa.string())),
            aggregates=tuple(aggregates),
            arguments=((), *((0,) for _ in FUNCTIONS[1:])),
            filtered=self.filtered,
        )

    @property
    def plan(self) -> StagePlan:
        estimator = None if self.slack is None else EstimatorPlan.fixed(self.slack)
        return StagePlan(self.layout, estimator, self.max_future)


@dataclass(frozen=True)
class Row:
    """One tuple of the stream, its tick a number whatever the column's type."""

    tick: int | float | None
    g: float | None = None
    s: str | None = None
    v: int | None = None
    keep: bool | None = True


@dataclass(frozen=True)
class Pattern:
    """The pattern of a punctuation or a prod: half-open in ticks, and perhaps on g or s."""

    low: int | float | None
    high: int | float | None
    g: tuple[float, float] | None = None
    s: str | None = None

    def payload(self, shape: Shape) -> bytes:
        time = Predicate(_written(shape, self.low), _written(shape, self.high))
        groups = {}
        if self.g is not None:
            groups["g"] = Predicate(*self.g, closed=True)
        if self.s is not None:
            groups["s"] = Predicate.equals(self.s)
        return written_payload(time, groups)

    @property
    def bounds(self) -> tuple[int | float, int | float]:
        low = -math.inf if self.low is None else self.low
        return low, math.inf if self.high is None else self.high

    def matches(self, group: naive.Group) -> bool:
        g, s = group
        if self.g is not None and (g is None or not self.g[0] <= _number(g) <= self.g[1]):
            return False
        return self.s is None or s == self.s

    def closing(self) -> naive.Closing:
        return naive.Closing(*self.bounds, self.matches)


@dataclass(frozen=True)
class Batch:
    """A micro-batch: tasks of pages of rows, then punctuations; ``prods`` are its own."""

    tasks: tuple[tuple[tuple[Row, ...], ...], ...] = ()
    punctuations: tuple[Pattern, ...] = ()
    prods: tuple[Pattern, ...] = ()

    @property
    def rows(self) -> list[Row]:
        return [row for task in self.tasks for page in task for row in page]


DRAIN = Batch(punctuations=(Pattern(None, None),))


@dataclass
class Outcome:
    """What a micro-batch gave: rows as a multiset, late rows added up by pane and group."""

    finals: Counter[tuple[Any, ...]]
    lates: dict[tuple[Any, ...], tuple[Any, ...]]
    early: Counter[tuple[Any, ...]]


@dataclass
class CoreDriver:
    """The core, as a host drives it. Every batch opens its stages anew over their cells."""

    shape: Shape
    shards: int = 1
    states: list[MemoryState] = field(default_factory=list)
    outputs: list[BatchOutput] = field(default_factory=list)
    arrange: Callable[[list[Envelope]], None] = list.copy
    """Puts a batch's envelopes into another order, in place."""

    def __post_init__(self) -> None:
        self.plan = self.shape.plan
        self.states = self.states or [MemoryState() for _ in range(self.shards)]

    def run(self, batch: Batch) -> Outcome:
        envelopes = list(self.envelopes(batch))
        self.arrange(envelopes)
        self.outputs = [
            Stage(self.plan, state, Context(shard, self.shards)).batch(
                envelope for envelope in envelopes if envelope.shard == shard
            )
            for shard, state in enumerate(self.states)
        ]
        return _outcome(self.shape, [page for output in self.outputs for page in output.rows])

    def copy(self) -> CoreDriver:
        return CoreDriver(self.shape, self.shards, copy.deepcopy(self.states))

    def envelopes(self, batch: Batch) -> Iterable[Envelope]:
        for task in batch.tasks:
            ingest = Ingest(self.plan.layout, self.shards, self.plan.watch)
            yield from ingest.run(page_of(self.shape, page) for page in task)
        for kind, patterns in ((Kind.PROD, batch.prods), (Kind.PUNCTUATION, batch.punctuations)):
            for pattern in patterns:
                yield from to_every_shard(kind, pattern.payload(self.shape), self.shards)

    @property
    def totals(self) -> naive.Totals:
        """The counts of all shards together, by the twin's names."""
        names = list(naive.Totals().__dict__)
        sums = {n: sum(getattr(output.counts, n) for output in self.outputs) for n in names}
        return naive.Totals(**sums)


def twin_of(shape: Shape) -> naive.NaiveStage:
    windows = naive.NaiveWindows(shape.range, shape.slide, shape.floating)
    return naive.NaiveStage(windows, aggregates_of, shape.slack, shape.max_future)


def run_twin(twin: naive.NaiveStage, batch: Batch) -> Outcome:
    tuples = [naive_tuple(row) for row in batch.rows]
    finals, lates = twin.batch(tuples, [pattern.closing() for pattern in batch.punctuations])
    return Outcome(Counter(map(tuple, finals)), _added(map(tuple, lates)), Counter())


def naive_tuple(row: Row) -> naive.Tuple:
    return naive.Tuple(row.tick, (_named(row.g), row.s), (row.v,), row.keep is True)


def aggregates_of(members: Sequence[naive.Tuple]) -> tuple[Any, ...]:
    values = [member.values[0] for member in members]
    ticks = [member.tick for member in members]
    one = [evaluate(name, [values]) for name in FUNCTIONS[1:-1]]
    return (len(members), *one, evaluate("LAST", [values, ticks]))


def page_of(shape: Shape, rows: Sequence[Row]) -> pa.RecordBatch:
    columns = [pa.array([_as_wattr(shape, row.tick) for row in rows], shape.type)]
    if shape.filtered:
        columns.append(pa.array([row.keep for row in rows], pa.bool_()))
    columns.append(pa.array([row.g for row in rows], pa.float64()))
    columns.append(pa.array([row.s for row in rows], pa.string()))
    columns.append(pa.array([row.v for row in rows], pa.int64()))
    return pa.RecordBatch.from_arrays(columns, names=[f"c{i}" for i in range(len(columns))])


def _as_wattr(shape: Shape, tick: int | float | None) -> Any:
    if shape.domain.is_decimal and tick is not None:
        return Decimal(tick) / shape.domain.per_unit
    return tick


def _written(shape: Shape, tick: int | float | None) -> Any:
    """A tick as a user writes it: seconds of a timestamp, units of a decimal."""
    if tick is None or shape.domain.per_unit == 1:
        return tick
    return str(Decimal(tick) / shape.domain.per_unit) if shape.domain.is_decimal else tick / 10**6


def _named(g: float | None) -> float | str | None:
    """NaN by name, since it does not equal itself; one zero."""
    return "NaN" if g is not None and math.isnan(g) else g


def _number(g: float | str) -> float:
    return NAN if isinstance(g, str) else g


def _outcome(shape: Shape, pages: Sequence[pa.RecordBatch]) -> Outcome:
    by_kind: dict[str, list[tuple[Any, ...]]] = {"final": [], "late": [], "early": []}
    for page in pages:
        bounds = [shape.domain.ticks(part)[0].tolist() for part in page.column(0).flatten()]
        columns = [column.to_pylist() for column in page.columns[1:]]
        rows = zip(*bounds, *columns, strict=True)
        for start, end, g, s, *aggregates, kind, tuples in rows:
            by_kind[kind].append((start, end, (_named(g), s), tuple(aggregates), tuples))
    return Outcome(Counter(by_kind["final"]), _added(by_kind["late"]), Counter(by_kind["early"]))


def _added(lates: Iterable[tuple[Any, ...]]) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Late rows by pane and group; LAST is left out, since it cannot be added up again."""
    added: dict[tuple[Any, ...], tuple[Any, ...]] = {}
    for start, end, group, (one, present, total, low, high, _), tuples in lates:
        row = (one, present, total, low, high, tuples)
        before = added.get((start, end, group))
        how = (_sum, _sum, _sum, min, max, _sum)
        if before is not None:
            pairs = zip(how, before, row, strict=True)
            row = tuple(_known(f, [x for x in xs if x is not None]) for f, *xs in pairs)
        added[start, end, group] = row
    return added


def _sum(*values: int) -> int:
    return sum(values)


def _known(function: Any, values: list[Any]) -> Any:
    return function(*values) if len(values) > 1 else next(iter(values), None)


TYPES = (pa.int64(), pa.float64(), pa.timestamp("us"), pa.decimal128(9, 2))


@st.composite
def shapes(draw: st.DrawFn, **fixed: Any) -> Shape:
    """Stages of all kinds: RANGE a multiple of SLIDE or not, gaps, fractions, SLACK or none."""
    type_ = draw(st.sampled_from(TYPES))
    step = Fraction(1, draw(st.sampled_from([1, 4, 10]))) if type_ == pa.float64() else Fraction(1)
    drawn = {
        "type": type_,
        "range": draw(st.integers(1, 12)) * step,
        "slide": draw(st.integers(1, 8)) * step,
        "slack": draw(st.none() | st.integers(0, 12)),
        "max_future": draw(st.none() | st.integers(1, 30)),
        "filtered": draw(st.booleans()),
    }
    return Shape(**(drawn | fixed))


def ticks(shape: Shape) -> st.SearchStrategy[Any]:
    whole = st.integers(-25, 40)
    if not shape.floating:
        return whole
    return whole.map(float) | st.integers(-250, 400).map(lambda tenths: tenths / 10)


@st.composite
def rows(draw: st.DrawFn, shape: Shape) -> Row:
    odd = [NAN, math.inf, -math.inf] if shape.floating else []
    far = st.integers(10**6, 2 * 10**6)
    tick = draw(ticks(shape) | ticks(shape) | ticks(shape) | st.sampled_from([None, *odd]) | far)
    return Row(
        tick,
        g=draw(st.sampled_from([None, NAN, 0.0, -0.0, 1.0, 2.5])),
        s=draw(st.sampled_from([None, "", "a", "b"])),
        v=draw(st.none() | st.integers(-9, 9)),
        keep=draw(st.sampled_from([True, True, True, False, None])) if shape.filtered else True,
    )


@st.composite
def patterns(draw: st.DrawFn, shape: Shape) -> Pattern:
    """Heartbeats, ranges, and both for some groups only."""
    first, second = sorted([draw(ticks(shape)), draw(ticks(shape))])
    low = draw(st.sampled_from([None, None, first]))
    on_g = draw(st.none() | st.tuples(st.sampled_from([0.0, 1.0]), st.sampled_from([1.0, 2.5])))
    return Pattern(low, second, g=on_g, s=draw(st.sampled_from([None, None, "", "a"])))


@st.composite
def histories(draw: st.DrawFn, shape: Shape, batches: int = 6, prods: bool = False) -> list[Batch]:
    """Micro-batches with up to three tasks of up to three pages, empty ones included."""
    page = st.lists(rows(shape), max_size=6).map(tuple)
    task = st.lists(page, max_size=3).map(tuple)
    several = st.lists(patterns(shape), max_size=2).map(tuple)
    batch = st.builds(
        Batch,
        tasks=st.lists(task, max_size=3).map(tuple),
        punctuations=several,
        prods=several if prods else st.just(()),
    )
    return draw(st.lists(batch, min_size=1, max_size=batches))


def flat(outcome: Outcome) -> tuple[Any, ...]:
    """What must not depend on how the work was split."""
    return outcome.finals, outcome.lates

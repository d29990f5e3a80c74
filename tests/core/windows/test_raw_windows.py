"""Windows that slide on every tuple: the operator against its naive twin."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.aggregates import make
from slackwater.core.contract import Context
from slackwater.core.elements import Predicate, Prod, Punctuation
from slackwater.core.intervals import EVERYTHING, INFINITY
from slackwater.core.reference.raw import NaiveRaw, RawRow
from slackwater.core.reference.windows import Tuple
from slackwater.core.state import MemoryState
from slackwater.core.time import TimeDomain
from slackwater.core.windows.raw import RawLayout, RawWindows

TICK = pa.int64()
AGGREGATES = (
    make("SUM", [TICK], TICK),
    make("MIN", [TICK], TICK),
    make("LAST", [TICK], TICK),
)

tuples = st.builds(
    Tuple,
    tick=st.integers(-5, 40),
    group=st.tuples(st.integers(0, 1), st.integers(0, 2)),
    values=st.tuples(st.integers(-9, 9)),
)
batches = st.lists(st.tuples(st.lists(tuples, max_size=12), st.integers(-5, 45)), max_size=8)


def layout_of(
    range_: int, counted: bool, partition: tuple[int, ...], floating: bool = False
) -> RawLayout:
    return RawLayout(
        domain=TimeDomain(pa.float64() if floating else TICK),
        keys=(pa.field("a", TICK), pa.field("b", TICK)),
        aggregates=AGGREGATES,
        arguments=((0,), (0,), (0,)),
        range=range_,
        input_types=(TICK,),
        counted=counted,
        partition=partition,
    )


def summed(members: Sequence[Tuple]) -> tuple[Any, ...]:
    """SUM, MIN and LAST (the smaller value where two tuples are last) of the twin's tuples."""
    values = [each.values[0] for each in members]
    last = max(each.tick for each in members)
    return sum(values), min(values), min(t.values[0] for t in members if t.tick == last)


def page_of(layout: RawLayout, given: Sequence[Tuple]) -> pa.RecordBatch:
    columns = [
        [t.tick for t in given],
        [t.group[0] for t in given],
        [t.group[1] for t in given],
        [t.values[0] for t in given],
    ]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, layout.page_schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=layout.page_schema)


def rows_of(elements: Sequence[Any], kind: str) -> list[RawRow]:
    found = []
    for page in elements:
        if not isinstance(page, pa.RecordBatch):
            continue
        for row in page.to_pylist():
            if row["kind"] == kind:
                values = (row["a0"], row["a1"], row["a2"])
                bounds = (row["window"]["start"], row["window"]["end"])
                found.append(RawRow(*bounds, (row["k0"], row["k1"]), values, row["tuples"]))
    return found


def run_step(
    layout: RawLayout, state: MemoryState, given: Sequence[Tuple], heartbeat: int
) -> list[Any]:
    """One micro-batch on an operator that is opened anew, as after a restart."""
    operator = RawWindows(layout)
    operator.open(state, Context())
    out = list(operator.process(page_of(layout, given))) if given else []
    out += list(operator.prod(Prod(EVERYTHING)))
    out += list(operator.advance(Punctuation.heartbeat(heartbeat)))
    operator.flush()
    return out


@given(
    batches,
    st.integers(1, 12),
    st.booleans(),
    st.sampled_from(((), (0,), (1,), (1, 0))),
    st.booleans(),
)
def test_finals_and_lates_equal_the_twins(
    steps: list[tuple[list[Tuple], int]],
    range_: int,
    counted: bool,
    part: tuple[int, ...],
    floating: bool,
) -> None:
    """Rows, their order and the late tuples are the twin's, with a restart at every step."""
    layout = layout_of(range_, counted, part, floating)
    twin = NaiveRaw(range_, summed, counted, part)
    state = MemoryState()
    for given_, heartbeat in [*steps, ([], 100)]:
        state = copy.deepcopy(state)
        out = run_step(layout, state, given_, heartbeat)
        finals, late = twin.batch(given_, heartbeat)
        assert rows_of(out, "final") == finals
        assert sum(row.tuples for row in rows_of(out, "late")) == len(late)


@given(batches, st.integers(1, 12), st.booleans())
def test_results_come_in_order_of_the_windowing_attribute(
    steps: list[tuple[list[Tuple], int]], range_: int, counted: bool
) -> None:
    """No row is below an earlier one, whatever the order of arrival."""
    layout, state = layout_of(range_, counted, (0,)), MemoryState()
    out = [e for given_, heartbeat in steps for e in run_step(layout, state, given_, heartbeat)]
    ends = [row.end for row in rows_of(out, "final")]
    assert ends == sorted(ends)


def test_state_is_bounded_by_the_range() -> None:
    """What no later window can hold is let go, for stretches and for counts."""
    for counted, range_ in ((False, 50), (True, 20)):
        layout, state = layout_of(range_, counted, (0,)), MemoryState()
        sizes = []
        for step in range(450):
            given_ = [Tuple(10 * step + i, (i % 2, 0), (i,)) for i in range(10)]
            run_step(layout, state, given_, 10 * step)
            sizes.append(sum(map(len, state.cells.values())))
        assert max(sizes[300:]) <= 1.1 * max(sizes[200:300])


def test_a_group_wise_punctuation_passes_through() -> None:
    """It releases nothing and is handed on."""
    layout, state = layout_of(5, False, ()), MemoryState()
    operator = RawWindows(layout)
    operator.open(state, Context())
    list(operator.process(page_of(layout, [Tuple(1, (0, 0), (7,))])))
    group_wise = Punctuation(EVERYTHING, {"a": Predicate.equals(0)})
    assert list(operator.advance(group_wise)) == [group_wise]
    assert operator.heartbeat == -INFINITY

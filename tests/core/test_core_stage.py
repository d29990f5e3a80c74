"""The whole stage, Ingest and Stage over memory state, against its naive twin."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stage_twin import (
    DRAIN,
    Batch,
    CoreDriver,
    Pattern,
    Row,
    Shape,
    aggregates_of,
    flat,
    histories,
    run_twin,
    shapes,
    twin_of,
)

from slackwater.core.state import MemoryState, StateError

shard_counts = st.integers(1, 3)


@settings(max_examples=80)
@given(st.data(), shapes(), shard_counts)
def test_finals_lates_and_counts_are_those_of_the_twin(data, shape, shards):
    """Any shape, any pages in any tasks, any punctuations: core and twin agree at every step."""
    core, twin = CoreDriver(shape, shards), twin_of(shape)
    for batch in [*data.draw(histories(shape)), DRAIN]:
        assert flat(core.run(batch)) == flat(run_twin(twin, batch))
        assert core.totals == twin.totals


@settings(max_examples=40)
@given(st.data(), shapes(slack=4), shard_counts)
def test_nothing_is_lost_at_any_step(data, shape, shards):
    """After each batch a drain of a copy gives just the windows that the twin still holds."""
    core, twin = CoreDriver(shape, shards), twin_of(shape)
    for batch in data.draw(histories(shape)):
        core.run(batch)
        run_twin(twin, batch)
        held = Counter(
            (*twin.windows.bounds(window), group, aggregates_of(members), len(members))
            for (window, group), members in twin.open.items()
        )
        assert core.copy().run(DRAIN).finals == held


@settings(max_examples=40)
@given(st.data(), shapes(), st.integers(1, 8), shard_counts)
def test_every_tuple_is_accounted_for_once(data, shape, width, shards):
    """Tumbling: input = in finals + late + far future + filtered + null + not a number."""
    whole = replace(shape, range=width, slide=width)
    core, counted = CoreDriver(whole, shards), 0
    for batch in data.draw(histories(whole)):
        counted += _tuples(core.run(batch).finals)
        drained = core.copy()
        total = counted + _tuples(drained.run(DRAIN).finals)
        t = drained.totals
        assert t.input == total + t.late + t.future + t.filtered + t.null + t.not_a_number
        assert t.in_no_window == 0


@settings(max_examples=30)
@given(st.data(), shapes(), shard_counts)
def test_a_batch_run_again_from_a_copy_gives_the_same(data, shape, shards):
    """Killed after any batch and restarted from copied state: the same rows, the same state."""
    core = CoreDriver(shape, shards)
    for batch in data.draw(histories(shape)):
        again = core.copy()
        assert again.run(batch) == core.run(batch)
        assert [s.cells for s in again.states] == [s.cells for s in core.states]


def test_a_step_far_into_the_future_is_rejected_and_does_not_move_the_heartbeat():
    """MAX FUTURE 10: after 5, a lone 1000 is counted as future, and 7 is still in time."""
    core = CoreDriver(Shape(pa.int64(), 10, 10, slack=0, max_future=10))
    core.run(_pages(Row(4), Row(5)))
    core.run(_pages(Row(6), Row(1000), Row(6)))
    assert core.totals.future == 1
    assert core.outputs[0].heartbeat == 6
    assert _tuples(core.run(_pages(Row(7))).finals) == 0
    assert _tuples(core.run(DRAIN).finals) == 5


def test_a_stream_that_has_moved_as_a_whole_is_followed():
    """MAX FUTURE 10: where most recent tuples lie far ahead, the stream has moved, and so do we."""
    core = CoreDriver(Shape(pa.int64(), 10, 10, slack=0, max_future=10))
    core.run(_pages(Row(4), Row(5)))
    outcome = core.run(_pages(Row(1000), Row(1001), Row(1001), Row(6)))
    assert core.totals.future == 0
    assert core.outputs[0].heartbeat == 1001
    assert _tuples(outcome.finals) == 3
    core.run(_pages(Row(9000)))
    assert core.totals.future == 1  # one alone is not the stream


def test_a_tuple_late_for_some_windows_counts_in_the_others():
    """A tuple is late only when all its windows are closed.

    ::

        0    5   10   15   20      RANGE 10, SLIDE 5
        [----w0---)                closed by the heartbeat 10
             [----w1---)           still open: the 7 arrives and is counted here
    """
    core = CoreDriver(Shape(pa.int64(), 10, 5))
    core.run(Batch(punctuations=(Pattern(None, 10),)))
    assert core.run(_pages(Row(7), Row(2))).lates.keys() == {(0, 5, (None, None))}
    assert [row[:2] for row in core.run(DRAIN).finals] == [(5, 15)]


def test_a_checkpoint_of_another_number_of_shards_is_refused():
    """State is kept by shard, so the count cannot change; the message says what to do."""
    states = [MemoryState(), MemoryState()]
    CoreDriver(Shape(pa.int64(), 10, 10), 2, states).run(_pages(Row(1)))
    with pytest.raises(StateError, match="written with 2 shards, and the query now has 1"):
        CoreDriver(Shape(pa.int64(), 10, 10), 1, states[:1]).run(DRAIN)


def _pages(*rows: Row) -> Batch:
    return Batch(tasks=((rows,),))


def _tuples(finals: Counter) -> int:
    return sum(row[-1] * times for row, times in finals.items())

"""What holds for any stage: prods, repeated punctuations, page order and shards change nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from stage_twin import (
    DRAIN,
    Batch,
    CoreDriver,
    aggregates_of,
    flat,
    histories,
    patterns,
    run_twin,
    shapes,
    twin_of,
)


@settings(max_examples=40)
@given(st.data(), shapes())
def test_prods_never_change_what_is_final(data, shape):
    """The same history with and without its prods: finals, lates and counts are the same."""
    asked, left = CoreDriver(shape, 2), CoreDriver(shape, 2)
    for batch in [*data.draw(histories(shape, prods=True)), DRAIN]:
        outcome = asked.run(batch)
        assert flat(outcome) == flat(left.run(replace(batch, prods=())))
        assert asked.totals == left.totals


@settings(max_examples=40)
@given(st.data(), shapes())
def test_a_prod_shows_all_that_is_open_inside_its_pattern(data, shape):
    """Early rows are just the twin's open windows that lie inside the prod and match it."""
    core, twin = CoreDriver(shape, 2), twin_of(shape)
    for batch in data.draw(histories(shape)):
        core.run(batch)
        run_twin(twin, batch)
        prod = data.draw(patterns(shape))
        low, high = prod.bounds
        spans = ((twin.windows.bounds(w), g, members) for (w, g), members in twin.open.items())
        expected = Counter(
            (*span, group, aggregates_of(members), len(members))
            for span, group, members in spans
            if low <= span[0] and span[1] <= high and prod.matches(group)
        )
        assert core.run(Batch(prods=(prod,))).early == expected


@settings(max_examples=20)
@given(st.data(), shapes())
def test_a_prod_sees_its_own_batch_before_the_punctuations(data, shape):
    """A prod for everything shows each window that the same batch goes on to close."""
    core = CoreDriver(shape)
    for batch in data.draw(histories(shape)):
        outcome = core.run(replace(batch, prods=DRAIN.punctuations))
        assert outcome.finals <= outcome.early


@settings(max_examples=40)
@given(st.data(), shapes())
def test_the_same_punctuation_twice_brings_nothing(data, shape):
    """Repeated in its batch or in the next one, a punctuation changes no row and no state."""
    once, twice = CoreDriver(shape, 2), CoreDriver(shape, 2)
    for batch in data.draw(histories(shape)):
        doubled = replace(batch, punctuations=batch.punctuations * 2)
        assert once.run(batch) == twice.run(doubled)
        before = twice.copy()
        outcome = twice.run(Batch(punctuations=batch.punctuations))
        assert not outcome.finals and not outcome.lates
        assert [s.cells for s in twice.states] == [s.cells for s in before.states]


@settings(max_examples=40)
@given(st.data(), shapes(), st.randoms(use_true_random=False), st.integers(2, 3))
def test_splits_page_order_and_shards_do_not_matter(data, shape, random, shards):
    """All rows in one page on one shard, or scattered over tasks, pages and shards: the same."""
    scattered, together = CoreDriver(shape, shards), CoreDriver(shape, 1)
    for batch in [*data.draw(histories(shape)), DRAIN]:
        shuffled = list(batch.rows)
        random.shuffle(shuffled)
        one_page = replace(batch, tasks=((tuple(shuffled),),))
        assert flat(scattered.run(batch)) == flat(together.run(one_page))
        assert scattered.totals == together.totals


@settings(max_examples=20)
@given(st.data(), shapes(), st.randoms(use_true_random=False))
def test_envelopes_may_come_in_any_order(data, shape, random):
    """A shuffle delivers a batch's envelopes in no order: rows and state are the same to a byte."""
    first, second = CoreDriver(shape, 2), CoreDriver(shape, 2)
    second.arrange = random.shuffle
    for batch in data.draw(histories(shape)):
        one_prod = replace(batch, prods=DRAIN.punctuations)
        assert first.run(one_prod) == second.run(one_prod)
        assert [s.cells for s in first.states] == [s.cells for s in second.states]


@settings(max_examples=20)
@given(st.data(), shapes())
def test_every_shard_reaches_the_same_heartbeat(data, shape):
    """All shards hear the same summaries and punctuations, so none trails the others."""
    core = CoreDriver(shape, 3)
    for batch in data.draw(histories(shape)):
        core.run(batch)
        assert len({(output.heartbeat, output.progress) for output in core.outputs}) == 1


@settings(max_examples=20)
@given(st.data(), shapes())
def test_the_heartbeat_never_goes_back(data, shape):
    """Whatever arrives, what was closed below the heartbeat stays closed."""
    core, reached = CoreDriver(shape), float("-inf")
    for batch in data.draw(histories(shape)):
        core.run(batch)
        assert core.outputs[0].heartbeat >= reached
        reached = core.outputs[0].heartbeat


@settings(max_examples=20)
@given(st.data(), shapes())
def test_a_drained_stage_keeps_no_panes(data, shape):
    """When every window is closed nothing is left in the pane log but its empty directory."""
    core = CoreDriver(shape, 2)
    for batch in [*data.draw(histories(shape)), DRAIN]:
        core.run(batch)
    assert not [key for state in core.states for cell, key in state.cells if cell == "panes"]

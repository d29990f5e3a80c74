"""Sketches and spreads say of lateness what a full list of it would say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.disorder.sketch import EDGES, LatenessSketch, bins_of
from slackwater.core.disorder.spread import EXACT_TUPLES, Spread, spread_of
from slackwater.core.reference.disorder import exceeded_by

latenesses = st.lists(
    st.floats(0, 1e12).map(lambda x: 0.0 if x < 1e-9 else x), min_size=1, max_size=40
)
shares = st.floats(0, 0.9)


def sketch_of(values: list[float], weights: list[float] | None = None) -> LatenessSketch:
    sketch = LatenessSketch()
    counts = np.ones(len(values)) if weights is None else np.array(weights)
    sketch.add(bins_of(np.array(values)), counts)
    return sketch


@given(latenesses, shares)
def test_a_quantile_is_that_of_the_list_up_to_one_bin(values, share):
    """Never below the exact one, and above it by no more than a 64th."""
    exact = exceeded_by(values, [1.0] * len(values), share)
    found = sketch_of(values).exceeded_by(share)
    assert exact <= found <= exact * (1 + 1 / 64) + 1e-8


@given(latenesses, latenesses, shares)
def test_merged_sketches_are_one_sketch(first, second, share):
    """Merging two is sketching all at once."""
    merged = sketch_of(first)
    merged.merge(sketch_of(second))
    assert merged.exceeded_by(share) == sketch_of(first + second).exceeded_by(share)


@given(latenesses, st.floats(0.01, 1))
def test_a_sketch_survives_storage(values, factor):
    """What is read back is what was stored."""
    sketch = sketch_of(values)
    sketch.decay(factor)
    again = LatenessSketch.from_json(sketch.to_json())
    assert (again.weights == sketch.weights).all()


@given(st.lists(st.floats(1e-6, 1e15), min_size=1))
def test_every_lateness_lies_in_its_bin(values):
    """Above the edge of the bin before, not above its own."""
    bins = bins_of(np.array(values))
    assert (np.array(values) <= EDGES[bins]).all()
    assert (np.array(values) >= EDGES[bins - 1]).all()


def test_the_widest_looks_no_further_than_its_limit():
    """A tuple older than can be is left out."""
    sketch = sketch_of([1.0, 5.0, 1e12])
    assert sketch.widest(1e13) >= 1e12
    assert 5 <= sketch.widest(1e6) <= 5.1
    assert LatenessSketch().widest(1e6) == 0.0


@given(
    st.lists(st.integers(-(2**40), 2**40), min_size=1, max_size=EXACT_TUPLES),
    st.integers(-(2**40), 2**40),
)
def test_a_small_page_is_kept_exactly(ticks, progress):
    """The lateness of every tuple, whatever the order."""
    spread = spread_of(np.array(ticks))
    found = np.repeat(spread.lateness(progress), spread.counts.astype(int))
    assert sorted(found.tolist()) == sorted(max(progress - t, 0) for t in ticks)


@pytest.mark.parametrize("type_", [np.int64, np.float64])
@pytest.mark.parametrize("rows", [300, 5_000, 100_000])
def test_the_late_tail_of_a_large_page_is_counted(type_, rows):
    """Below the reference every tuple counts, and lies where it should up to a few percent."""
    random = np.random.default_rng(rows)
    ticks = (1.7e15 + random.uniform(0, 1e7, rows) - random.exponential(1e6, rows)).astype(type_)
    ticks[0] = 1.7e15 + 1e13  # a clock that runs ahead does no harm
    spread = spread_of(ticks)
    assert spread.counts.sum() == pytest.approx(rows)
    tail = ticks < spread.reference
    assert spread.counts[spread.offsets < 0].sum() == tail.sum()
    progress = ticks.dtype.type(1.7e15)
    late, exact = spread.lateness(progress.item()), np.maximum(progress - ticks, 0)
    for share in (0.01, 0.001):
        found = exceeded_by(late.tolist(), spread.counts.tolist(), share)
        assert found == pytest.approx(float(np.quantile(exact, 1 - share)), rel=0.1)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=600))
def test_a_spread_survives_storage(ticks):
    """What is read back is what was sent."""
    spread = spread_of(np.array(ticks))
    again = Spread.from_json(spread.to_json())
    assert again.reference == spread.reference
    assert (again.offsets == spread.offsets).all() and (again.counts == spread.counts).all()

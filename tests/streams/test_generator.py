"""What the generated stream promises: it depends on its options, and on nothing else."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.errors import JobError
from slackwater.streams import DisorderedStream
from slackwater.streams.blocks import BlockCache, make_block
from slackwater.streams.draws import period_delay
from slackwater.streams.parameters import DELAYS, START_2026

SECOND = 1_000_000
HORIZON = 12 * SECOND

delays = st.sampled_from(sorted(DELAYS))
moments = st.integers(0, HORIZON)


@st.composite
def streams(draw: st.DrawFn) -> DisorderedStream:
    """Small streams of every kind; delays are short enough to cross a few seconds only."""
    delay = draw(delays)
    changing = delay in ("normal", "lognormal") and draw(st.booleans())
    return DisorderedStream(
        rate=draw(st.sampled_from([0.3, 7, 33.3, 250])),
        spacing=draw(st.sampled_from(["even", "poisson"])),
        density=draw(st.sampled_from([0.0, 0.0, 0.9])),
        burst_every=draw(st.sampled_from([0.0, 0.7, 3.5])),
        burst_length=0.6,
        burst_factor=draw(st.sampled_from([0.5, 4.0])),
        keys=draw(st.integers(1, 20)),
        key_skew=draw(st.sampled_from([0.0, 1.2])),
        key_type=draw(st.sampled_from(["bigint", "string"])),
        delay=delay,
        delay_changes_every=draw(st.sampled_from([0.4, 3.0])) if changing else 0.0,
        max_delay=draw(st.sampled_from([0.0, 0.5, 4.0])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )


def micros_of(table: pa.Table, name: str) -> np.ndarray:
    return table.column(name).cast(pa.int64()).to_numpy() - START_2026


def delays_of(stream: DisorderedStream, seconds: float = 40) -> np.ndarray:
    """Delays in seconds of what arrives in the given time."""
    table = stream.between(0, int(seconds * SECOND))
    return (micros_of(table, "arrival") - micros_of(table, "ts")) / SECOND


@settings(max_examples=60, deadline=None)
@given(streams(), st.integers(1, 5), moments, moments)
def test_parts_hold_the_stream_once(
    stream: DisorderedStream, parts: int, one: int, other: int
) -> None:
    """The union over the parts of an interval is that interval of the whole stream."""
    first, end = sorted((one, other))
    split = [stream.between(first, end, part, parts) for part in range(parts)]
    union = pa.concat_tables(split).sort_by([("arrival", "ascending"), ("seq", "ascending")])
    assert union.equals(stream.between(first, end))


@settings(max_examples=60, deadline=None)
@given(streams(), st.lists(moments, max_size=8))
def test_consecutive_intervals_partition_the_stream(
    stream: DisorderedStream, cuts: list[int]
) -> None:
    """However arrival is cut into intervals, together they are the stream in its order."""
    edges = [0, *sorted(cuts), HORIZON]
    pieces = [stream.between(a, b) for a, b in pairwise(edges)]
    assert pa.concat_tables(pieces).equals(stream.between(0, HORIZON))


@settings(max_examples=60, deadline=None)
@given(streams())
def test_rows_are_ordered_unique_and_bounded(stream: DisorderedStream) -> None:
    """Rows come by arrival then seq, seq is unique, and delays lie in 0..max_delay."""
    table = stream.between(0, HORIZON)
    arrival, seq = micros_of(table, "arrival"), table.column("seq").to_numpy()
    waited = arrival - micros_of(table, "ts")
    assert table.schema == stream.schema
    assert np.array_equal(np.lexsort((seq, arrival)), np.arange(len(table)))
    assert len(np.unique(seq)) == len(seq)
    assert (waited >= 0).all() and (waited <= stream.max_delay * SECOND).all()
    assert np.array_equal(seq >> 20, micros_of(table, "ts") // SECOND)


@settings(max_examples=40, deadline=None)
@given(streams(), delays)
def test_delay_leaves_the_tuples_alone(stream: DisorderedStream, delay: str) -> None:
    """Streams that differ only in delay hold the same tuples."""
    other = replace(stream, delay=delay, delay_changes_every=0.0)
    one, two = (np.argsort(make_block(s, 3).seq) for s in (stream, other))
    for name in ("ts", "key", "value", "seq"):
        left, right = getattr(make_block(stream, 3), name), getattr(make_block(other, 3), name)
        assert np.array_equal(left[one], right[two])


def test_another_process_makes_the_same_stream() -> None:
    """A seed means the same stream in every process, and another seed another stream."""
    code = (
        "from slackwater.streams import DisorderedStream as D\n"
        "t = D(rate=50, delay='normal', seed=7).between(0, 5_000_000)\n"
        "print(t.column('value').to_pylist() + t.column('arrival').cast('int64').to_pylist())"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    table = DisorderedStream(rate=50, delay="normal", seed=7).between(0, 5 * SECOND)
    here = table.column("value").to_pylist() + table.column("arrival").cast("int64").to_pylist()
    assert there.stdout.strip() == str(here)
    assert not table.equals(DisorderedStream(rate=50, delay="normal", seed=8).between(0, 5_000_000))


def test_cache_is_bounded_and_invisible() -> None:
    """A cache with room for nothing gives the same blocks, and skips those that are over."""
    stream, cache = DisorderedStream(rate=100, delay="constant", delay_mean=0.5), BlockCache(rows=0)
    for _ in range(2):
        block = cache.get(stream, 4, 0)
        assert block is not None
        assert np.array_equal(block.value, make_block(stream, 4).value)
    assert cache.get(stream, 4, 5_490_000) is not None
    assert cache.get(stream, 4, 5_490_001) is None


@pytest.mark.parametrize(
    ("options", "mean", "spread"),
    [
        ({"delay": "none"}, 0.0, 0.0),
        ({"delay": "constant", "delay_mean": 2.5}, 2.5, 0.0),
        ({"delay": "uniform", "delay_bound": 3.0}, 1.5, 3 / 12**0.5),
        ({"delay": "exponential", "delay_mean": 0.8}, 0.8, 0.8),
        ({"delay": "normal", "delay_mu": 3.0, "delay_sigma": 0.5}, 3.0, 0.5),
        ({"delay": "lognormal", "delay_mu": 0.0, "delay_sigma": 0.5}, 1.133, 0.604),
        ({"delay": "pareto", "delay_scale": 0.5, "delay_shape": 5.0}, 0.625, 0.161),
    ],
    ids=lambda value: value.get("delay") if isinstance(value, dict) else None,
)
def test_delays_follow_their_distribution(
    options: dict[str, object], mean: float, spread: float
) -> None:
    """Mean and standard deviation of the delays are those of the distribution asked for."""
    made = np.concatenate(
        [
            (block.arrival - block.ts) / SECOND
            for block in (make_block(DisorderedStream(**options), s) for s in range(40))
        ]
    )
    assert made.mean() == pytest.approx(mean, rel=0.03)
    assert made.std() == pytest.approx(spread, rel=0.1)


def test_delay_is_cut_at_zero_and_capped() -> None:
    """A normal delay below zero is none, and no delay is longer than max_delay."""
    stream = DisorderedStream(delay="normal", delay_mu=0.0, delay_sigma=2.0, max_delay=1.0)
    waited = delays_of(stream)
    assert np.mean(waited == 0) == pytest.approx(0.5, abs=0.02)
    assert np.mean(waited == 1) == pytest.approx(0.31, abs=0.02)
    assert waited.max() == 1


def test_changing_delays_are_drawn_per_period() -> None:
    """Each period of event time has a mu in 0..6 and a sigma in 0..5 of its own."""
    stream = DisorderedStream(delay="normal", delay_changes_every=3, delay_sigma_high=0.0)
    table = stream.between(0, 60 * SECOND)
    ts, waited = micros_of(table, "ts"), delays_of(stream, 60)
    for period in range(15):
        inside = ts // (3 * SECOND) == period
        assert waited[inside] == pytest.approx(period_delay(stream, period)[0], abs=1e-6)
    drawn = np.array([period_delay(DisorderedStream(), n) for n in range(2000)])
    assert drawn.min(axis=0) == pytest.approx([0, 0], abs=0.01)
    assert drawn.max(axis=0) == pytest.approx([6, 5], abs=0.01)


def test_values_follow_their_distribution() -> None:
    """Values are uniform in a range, normal, a running count or a constant."""

    def values(**options: object) -> np.ndarray:
        table = DisorderedStream(**options).between(0, 20 * SECOND)
        return table.column("value").to_numpy()

    uniform = values(value="uniform", value_low=-5, value_high=15)
    assert uniform.min() >= -5 and uniform.max() < 15
    assert uniform.mean() == pytest.approx(5, abs=0.2)
    normal = values(value="normal", value_mean=100, value_sd=7)
    assert normal.mean() == pytest.approx(100, abs=0.2)
    assert normal.std() == pytest.approx(7, rel=0.03)
    assert np.array_equal(values(value="counter", rate=33.3), np.arange(666))
    assert set(values(value="constant", value_mean=4)) == {4.0}


def test_keys_are_uniform_or_skewed() -> None:
    """Without skew keys are equally frequent; with skew s, key k has weight (k+1)**-s."""
    flat = DisorderedStream(keys=4, rate=10_000).between(0, 2 * SECOND)
    assert np.bincount(flat.column("key")) / len(flat) == pytest.approx([0.25] * 4, abs=0.02)
    skewed = DisorderedStream(keys=3, key_skew=1.0, rate=10_000).between(0, 2 * SECOND)
    shares = np.bincount(skewed.column("key")) / len(skewed)
    assert shares == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.02)
    named = DisorderedStream(keys=3, key_skew=1.0, rate=10_000, key_type="string")
    names = named.between(0, 2 * SECOND).column("key")
    assert names.to_pylist() == [f"k{k}" for k in skewed.column("key").to_pylist()]


def test_rate_is_exact_or_poisson() -> None:
    """Even spacing gives exactly the rate; Poisson gives exponential gaps of that mean."""
    assert len(DisorderedStream(rate=0.4).between(0, 100 * SECOND)) == 40
    even = DisorderedStream(rate=250).between(0, 10 * SECOND)
    assert set(np.diff(micros_of(even, "ts"))) == {4000}
    poisson = DisorderedStream(rate=250, spacing="poisson").between(0, 40 * SECOND)
    gaps = np.diff(micros_of(poisson, "ts")) / SECOND
    assert gaps.mean() == pytest.approx(1 / 250, rel=0.03)
    assert gaps.std() == pytest.approx(1 / 250, rel=0.05)


def test_bursts_end_each_period() -> None:
    """The last burst_length of each burst_every has burst_factor times the rate.

    ::

        0        1.5   2        3.5   4
        |---100---|-500-|---100---|-500-|
    """
    stream = DisorderedStream(rate=100, burst_every=2, burst_length=0.5, burst_factor=5)
    ts = micros_of(stream.between(0, 4 * SECOND), "ts")
    counts, _ = np.histogram(ts, bins=np.array([0, 1.5, 2, 3.5, 4]) * SECOND)
    assert counts.tolist() == [150, 250, 150, 250]


def test_density_is_that_of_the_thesis() -> None:
    """At 95% a second holds 20 tuples in the mean, and 540 in 30 seconds is a typical count."""
    stream = DisorderedStream(density=0.95, rate=3)
    table = stream.between(0, 6000 * SECOND)
    ts = micros_of(table, "ts")
    assert set(ts % SECOND) == {0}
    windows = np.bincount(ts // (30 * SECOND))
    low, middle, high = np.quantile(windows, [0.25, 0.5, 0.75])
    assert middle == pytest.approx(600, rel=0.05)
    assert low <= 540 <= high
    assert np.bincount(ts // SECOND).min() >= 1


def test_pages_are_the_stream_in_order() -> None:
    """Pages are consecutive, the last one may be shorter, and empty seconds give empty pages."""
    stream = DisorderedStream(rate=0.5, delay="constant", delay_mean=0.25)
    pages = list(stream.pages(4.5))
    assert [len(page) for page in pages] == [1, 0, 1, 0, 1]
    assert pa.concat_tables(pages).equals(stream.between(0, 4_500_000))
    assert len(list(stream.pages(1, page_seconds=0.3))) == 4


def test_start_moves_all_times() -> None:
    """The origin of event time is an option; without it it is 2026-01-01 UTC."""
    usual, early = DisorderedStream().between(0, SECOND), DisorderedStream(start=0)
    assert pc.min(usual.column("ts")).as_py().isoformat() == "2026-01-01T00:00:00+00:00"
    assert pc.min(early.between(0, SECOND).column("ts")).as_py().year == 1970


def test_options_are_read_from_text() -> None:
    """Every option has a text form, and texts give the stream that values give."""
    stream = DisorderedStream(rate=2.5, keys=7, delay="normal", delay_mu=3.0, seed=9)
    texts = {"rate": "2.5", "keys": "7", "delay": "Normal", "delay_mu": "3", "seed": "9"}
    assert DisorderedStream.from_options(texts) == stream
    used = [f for f in fields(DisorderedStream) if not f.name.startswith(("delay_", "value_"))]
    assert DisorderedStream.from_options({f.name: str(f.default) for f in used}) == (
        DisorderedStream()
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rat": "5"}, "unknown option 'rat': did you mean 'rate'?"),
        ({"rate": "fast"}, "option rate = 'fast' is refused: allowed is a number from 1e-06"),
        ({"rate": "nan"}, "option rate = 'nan'"),
        ({"keys": "2.5"}, "option keys = '2.5' is refused: allowed is a whole number from 1"),
        ({"keys": "0"}, "option keys = '0'"),
        ({"delay": "gamma"}, "option delay = 'gamma' is refused: allowed is one of none, constant"),
        ({"density": "1"}, "option density = '1.0'"),
        ({"burst_every": "0.5"}, "option burst_length = 1 is refused"),
        ({"rate": "500000", "burst_every": "5"}, "option burst_factor = 10 is refused"),
        ({"value_low": "3"}, "option value_low = 3 is refused: allowed is at most value_high = 1"),
        ({"value": "counter", "density": "0.9"}, "option value = 'counter' is refused"),
        ({"delay": "pareto", "delay_changes_every": "3"}, "allowed is delay = 'normal'"),
        ({"delay": "exponential", "delay_mu": "3"}, "has no effect with delay = 'exponential'"),
        ({"value_sd": "3"}, "option value_sd = '3.0' has no effect with value = 'uniform'"),
    ],
    ids=str,
)
def test_bad_options_are_refused(options: dict[str, str], message: str) -> None:
    """A refusal names the option, its value and what is allowed."""
    with pytest.raises(JobError) as refused:
        DisorderedStream.from_options(options)
    assert message in str(refused.value)


def test_bad_values_in_python_are_refused_alike() -> None:
    """The constructor checks the same rules, types included."""
    with pytest.raises(JobError, match="option keys = '2.0' is refused"):
        DisorderedStream(keys=2.0)  # type: ignore[arg-type]
    with pytest.raises(JobError, match="option rate = 'True' is refused"):
        DisorderedStream(rate=True)

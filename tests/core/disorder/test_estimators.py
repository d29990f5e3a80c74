"""Estimators against their twins, their papers' equations, and what they promise."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.disorder.adaptive_max import AdaptiveMax
from slackwater.core.disorder.batch import Batch, Moments
from slackwater.core.disorder.fixed import Fixed
from slackwater.core.disorder.interarrival import Interarrival, buffer_size, simple_buffer_size
from slackwater.core.disorder.max_delay import MaxDelay
from slackwater.core.disorder.mean_distance import MeanDistance
from slackwater.core.disorder.p95 import P95
from slackwater.core.disorder.quantile import Quantile
from slackwater.core.disorder.registry import ESTIMATORS, STEERED, EstimatorPlan
from slackwater.core.disorder.remote_clock import RemoteClock
from slackwater.core.disorder.trial import Track, trial
from slackwater.core.reference import disorder as naive

streams = st.lists(st.integers(0, 60), min_size=1, max_size=80).map(
    lambda jitter: [float(3 * i - late) for i, late in enumerate(jitter)]
)
periods = st.integers(1, 7)


def delayed(tuples: int, delays: np.ndarray, gap: float = 100.0, seed: int = 5) -> Track:
    """A stream of Poisson arrivals with given delays, about one tuple each ``gap`` ticks."""
    ticks = np.cumsum(np.random.default_rng(seed).exponential(gap, tuples))
    arrivals = ticks + delays
    order = np.argsort(arrivals, kind="stable")
    return Track.of(ticks[order].astype(np.int64), arrivals[order].astype(np.int64))


def normal(tuples: int, mu: float, sigma: float, seed: int = 1) -> np.ndarray:
    return np.maximum(np.random.default_rng(seed).normal(mu, sigma, tuples), 0.0)


@given(streams, periods, st.integers(0, 40))
def test_a_trial_is_a_loop_over_tuples(ticks, period, slack):
    """Lost tuples and waits are those of the naive loop, for a constant slack."""
    expected = list(naive.run(lambda _: float(slack), ticks, period))
    found = trial(Fixed(slack), Track.of(np.array(ticks)), period)
    assert list(zip(found.lost.tolist(), found.waits.tolist(), strict=True)) == expected


@given(streams, periods)
def test_max_delay_is_its_twin(ticks, period):
    """The largest lateness so far, after each batch."""
    expected = [wait for _, wait in naive.run(naive.max_delay, ticks, period)]
    assert trial(MaxDelay(), Track.of(np.array(ticks)), period).waits.tolist() == expected


@given(streams, periods, st.integers(1, 30))
def test_adaptive_max_is_its_twin(ticks, period, tuples):
    """Up at once, and half-way down after W tuples."""
    expected = naive.run(lambda seen: naive.adaptive_max(seen, tuples), ticks, period)
    found = trial(AdaptiveMax(tuples), Track.of(np.array(ticks)), period)
    assert found.waits.tolist() == [wait for _, wait in expected]


@settings(max_examples=5)
@given(st.integers(0, 100), st.sampled_from([1.0, 1000.0]))
def test_p95_is_its_twin(seed, per_second):
    """Margins while it warms up, then the quantile of the last 5,000."""
    track = delayed(6_000, normal(6_000, 500, 300, seed), seed=seed)
    ticks = track.ticks.tolist()
    expected = [w for _, w in naive.run(lambda seen: naive.p95(seen, per_second), ticks, 500)]
    found = trial(P95(per_second), track, 500).waits
    late = slice(500, None)  # the twin's margins go by all rows, the first batch has none
    assert found[late].tolist() == expected[late]


@given(st.floats(1e-4, 0.2), st.floats(1, 1e5), st.floats(0.1, 100))
def test_equation_11_solves_equation_10(share, sigma, theta):
    """The buffer keeps just what DRATIO asks for, or has its 30 tuples and keeps more."""
    n = buffer_size(share, sigma, theta)
    kept = naive.buffer_probability(n, sigma, theta)
    assert kept == pytest.approx(1 - share, abs=1e-6) or (n == 30 and kept >= 1 - share)


def test_equation_12_is_equation_11_at_high_rates():
    """With many tuples within a delay the two agree."""
    assert simple_buffer_size(0.01, 3.0, 1e4) == pytest.approx(buffer_size(0.01, 3.0, 1e-4), 1e-3)


def test_interarrival_hands_over_at_a_tenth_of_a_percent():
    """At D = 0.1% it is adaptive-max; above, the model's buffer."""
    track = delayed(20_000, normal(20_000, 5_000, 3_000))
    low = trial(Interarrival(0.001), track)
    assert (low.waits[5_000:] == trial(AdaptiveMax(), track).waits[5_000:]).all()
    found = trial(Interarrival(0.01), track).waits[10_000:].mean()
    expected = buffer_size(0.01, 3_000, 100) * 100 + track.lateness.mean()
    assert found == pytest.approx(expected, rel=0.1)
    assert trial(Interarrival(0.01), track).drop_share <= 0.01


def test_mean_distance_is_steered_to_its_share():
    """More lost than permitted delays the heartbeat, less forwards it."""
    track = delayed(200_000, normal(200_000, 5_000, 3_000))
    for share in (0.05, 0.01):
        assert trial(MeanDistance(share), track).drop_share == pytest.approx(share, rel=0.35)
    assert trial(MeanDistance(0.0), track).drop_share < 1e-3


@pytest.mark.parametrize("share", [0.05, 0.01, 0.001])
def test_quantile_keeps_its_bound_and_wastes_little(share):
    """A standing stream: at most DRATIO lost, at most a tenth longer than in hindsight."""
    track = delayed(300_000, normal(300_000, 5_000, 3_000))
    found = trial(Quantile(share), track)
    assert found.drop_share <= share
    assert found.mean_wait <= 1.10 * track.hindsight(share)


@pytest.mark.parametrize("share", [0.05, 0.01, 0.001])
def test_quantile_follows_a_stream_that_changes(share):
    """Delays that change every second: the bound is kept, and the wait beats any constant."""
    random = np.random.default_rng(3)
    mu, sigma = (np.repeat(random.uniform(0, high, 30), 10_000) for high in (6_000, 5_000))
    delays = np.maximum(mu + sigma * random.standard_normal(300_000), 0)
    track = delayed(300_000, delays)
    found = trial(Quantile(share), track)
    assert found.drop_share <= share
    assert found.mean_wait <= track.hindsight(share)


def test_quantile_spends_no_budget_on_a_cold_start():
    """However short the stream, the first losses stay within a few of what is permitted."""
    for seed in range(20):
        track = delayed(2_000, normal(2_000, 5_000, 3_000, seed), seed=seed)
        lost = np.cumsum(trial(Quantile(0.01), track).lost)
        permitted = 0.01 * np.arange(1, 2_001)
        assert (lost <= permitted + 10).all()


def test_quantile_widens_within_a_few_tuples_of_a_jump():
    """Delays ten times as long from one tuple to the next: losses stop after a short while."""
    delays = np.append(normal(100_000, 1_000, 300), normal(100_000, 10_000, 3_000))
    found = trial(Quantile(0.01), delayed(200_000, delays))
    after = np.flatnonzero(found.lost) > 105_000
    assert found.drop_share <= 0.01
    assert after.sum() <= 0.01 * 95_000


def test_with_nothing_to_lose_it_waits_for_the_latest():
    """DRATIO 0%: a quarter more than the largest lateness, for good."""
    track = delayed(50_000, normal(50_000, 5_000, 3_000))
    found = trial(Quantile(0.0), track)
    assert found.lost.sum() <= 3
    largest = track.lateness.max()
    assert largest < found.waits[-1] <= 1.3 * largest


def test_the_remote_clock_goes_on_while_nothing_comes():
    """A tick moves the arrival's clock, and with it the heartbeat."""
    clock = RemoteClock(alpha=0.5)
    first = Batch(1.0, np.empty(0), np.empty(0), delays=Moments(1, 40.0), arrival=140.0)
    clock.observe(Batch(**{**first.__dict__, "progress": 100.0}))
    assert 100.0 - clock.slack == 100.0
    clock.observe(Batch(0.0, np.empty(0), np.empty(0), arrival=190.0, progress=100.0))
    assert 100.0 - clock.slack == 150.0


@pytest.mark.parametrize("name", ESTIMATORS)
@given(data=st.data())
def test_an_estimator_goes_on_from_what_it_stored(name, data):
    """Stored as JSON and restored between any two batches, it says the same."""
    share = data.draw(st.sampled_from([0.0, 0.01, 0.2])) if name in STEERED else 0.0
    plan = EstimatorPlan(name, share or 0.05, slack=7)
    one, other = plan.build(), plan.build()
    numbers = st.lists(st.integers(0, 9), min_size=1, max_size=60)
    for place, values in enumerate(data.draw(st.lists(numbers, max_size=6))):
        late = np.array(values, dtype=np.float64)
        batch = Batch(
            float(len(values)), late, np.ones(len(values)), below=float(values[0] > 7),
            advance=3.0, behind=2.0, delays=Moments.of(late), arrival=10.0 * place, progress=7.0,
        )  # fmt: skip
        one.observe(batch)
        other.observe(batch)
        assert one.slack == other.slack
        stored = json.loads(json.dumps(other.state()))
        other = plan.build()
        other.restore(stored)


@given(streams, st.sampled_from([name for name in ESTIMATORS if name != "remote-clock"]))
def test_the_heartbeat_of_any_estimator_never_goes_back(ticks, name):
    """Progress less wait only grows."""
    track = Track.of(np.array(ticks))
    waits = trial(EstimatorPlan(name, 0.05, slack=3).build(), track, 3).waits
    beats = (track.progress - waits)[np.isfinite(waits)]
    assert (np.diff(beats) >= 0).all()


def test_moments_come_together():
    """Moments of parts are the moments of the whole."""
    values = np.random.default_rng(1).normal(5, 2, 1_000)
    parts = [Moments.of(values[:100]), Moments(), Moments.of(values[100:])]
    whole, joined = Moments.of(values), Moments.together(parts)
    assert joined.deviation == pytest.approx(whole.deviation) == pytest.approx(values.std())
    assert (joined.count, joined.high) == (whole.count, whole.high)
    assert math.isclose(joined.mean, whole.mean)

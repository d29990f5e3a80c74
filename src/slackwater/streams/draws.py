"""The random columns of one second of a stream: times, keys, values and delays.

Every function takes the parameters and, where it draws, the generator of that second.
All are vectorised; times are microseconds since the start of the stream.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from slackwater.core.time import MICROS_PER_SECOND
from slackwater.streams.parameters import Parameters

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

SEQ_BITS = 20  # a second holds fewer tuples than 2**20
_PERIOD_TAG = 1  # keeps the generators of delay periods apart from those of seconds


def draw_times(p: Parameters, second: int, rng: np.random.Generator) -> tuple[int, Ints]:
    """The number of the second's first tuple, and the event times of all, ascending."""
    if p.density:
        expected = expected_before(p, second + 1) - expected_before(p, second)
        count = min(int(rng.geometric(min(1.0, 1 / expected))), 2**SEQ_BITS - 1)
        return 0, np.full(count, second * MICROS_PER_SECOND, dtype=np.int64)
    at, reached = _intensity(p, second)
    if p.spacing == "even":
        first, end = math.ceil(reached[0]), math.ceil(reached[-1])
        places = np.arange(first, end, dtype=np.float64)
    else:
        first, count = 0, int(rng.poisson(reached[-1] - reached[0]))
        places = np.sort(rng.uniform(reached[0], reached[-1], count))
    inside = np.rint(np.interp(places, reached, at) * MICROS_PER_SECOND).astype(np.int64)
    return first, second * MICROS_PER_SECOND + np.minimum(inside, MICROS_PER_SECOND - 1)


def expected_before(p: Parameters, second: float) -> float:
    """The expected number of tuples before a moment, bursts included."""
    bursting = 0.0
    if p.burst_every:
        whole, rest = divmod(second, p.burst_every)
        quiet = p.burst_every - p.burst_length
        bursting = whole * p.burst_length + max(0.0, rest - quiet)
    return p.mean_rate * (second + (p.burst_factor - 1) * bursting)


def _intensity(p: Parameters, second: int) -> tuple[Floats, Floats]:
    """Moments within a second and the expected number before each; linear in between."""
    edges = [0.0, 1.0]
    if p.burst_every:
        first, last = int(second / p.burst_every), int((second + 1) / p.burst_every)
        ends = np.arange(first, last + 2) * p.burst_every - second
        edges += [e for e in (*ends, *(ends - p.burst_length)) if 0.0 < e < 1.0]
    at = np.sort(np.asarray(edges))
    return at, np.asarray([expected_before(p, second + e) for e in at])


def draw_keys(p: Parameters, count: int, rng: np.random.Generator) -> Ints:
    """Key numbers in ``0 .. keys-1``; with a skew, number k has weight (k + 1) ** -skew."""
    if not p.key_skew:
        return rng.integers(p.keys, size=count)
    shares = _cumulated_shares(p.keys, p.key_skew)
    return np.searchsorted(shares[:-1], rng.random(count), side="right").astype(np.int64)


@lru_cache(maxsize=4)
def _cumulated_shares(keys: int, skew: float) -> Floats:
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -skew
    shares: Floats = np.cumsum(weights) / weights.sum()
    return shares


def draw_values(p: Parameters, first: int, count: int, rng: np.random.Generator) -> Floats:
    """The values; a counter goes on from the number of the first tuple."""
    match p.value:
        case "uniform":
            return p.value_low + (p.value_high - p.value_low) * rng.random(count)
        case "normal":
            return rng.normal(p.value_mean, p.value_sd, count)
        case "counter":
            return np.arange(first, first + count, dtype=np.float64)
        case _:
            return np.full(count, float(p.value_mean))


def draw_delays(p: Parameters, times: Ints, rng: np.random.Generator) -> Ints:
    """The delay of each tuple in microseconds, from 0 to ``max_delay``."""
    delays = np.clip(_uncapped(p, times, rng), 0.0, p.max_delay)
    return np.rint(delays * MICROS_PER_SECOND).astype(np.int64)


def _uncapped(p: Parameters, times: Ints, rng: np.random.Generator) -> Floats:
    count = len(times)
    match p.delay:
        case "none":
            return np.zeros(count)
        case "constant":
            return np.full(count, float(p.delay_mean))
        case "uniform":
            return p.delay_bound * rng.random(count)
        case "exponential":
            return rng.exponential(p.delay_mean, count)
        case "pareto":
            return p.delay_scale * (1 + rng.pareto(p.delay_shape, count))
    mu, sigma = _mu_and_sigma(p, times)
    normal: Floats = mu + sigma * rng.standard_normal(count)
    if p.delay == "normal":
        return normal
    with np.errstate(over="ignore"):
        return np.exp(normal)


def _mu_and_sigma(p: Parameters, times: Ints) -> tuple[Floats | float, Floats | float]:
    """The delay's parameters; where they change, those of the period of each event time."""
    if not p.delay_changes_every:
        return p.delay_mu, p.delay_sigma
    length = round(p.delay_changes_every * MICROS_PER_SECOND)
    periods, which = np.unique(times // length, return_inverse=True)
    drawn = np.array([period_delay(p, int(period)) for period in periods]).reshape(-1, 2)
    return drawn[which, 0], drawn[which, 1]


def period_delay(p: Parameters, period: int) -> tuple[float, float]:
    """mu and sigma of one period of changing delays."""
    rng = np.random.default_rng([p.seed, period, _PERIOD_TAG])
    mu = rng.uniform(p.delay_mu_low, p.delay_mu_high)
    return mu, rng.uniform(p.delay_sigma_low, p.delay_sigma_high)

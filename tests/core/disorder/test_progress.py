"""The progress follows the stream, and not a single tuple that is far ahead of it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.disorder.progress import Progress
from slackwater.core.disorder.spread import spread_of

YEAR = 365 * 86_400_000_000


class Followed:
    """A progress fed page by page; a heartbeat stands after the first few tuples."""

    def __init__(self) -> None:
        self.progress, self.tuples = Progress(), 0

    def page(self, ticks: list[int] | np.ndarray) -> int | float:
        values = np.asarray(ticks)
        given = self.tuples >= 32
        self.progress.observe(values.max().item(), (spread_of(values),), 50_000.0, given)
        self.progress = Progress.restored(json.loads(json.dumps(self.progress.state())))
        self.tuples += len(values)
        return self.progress.reached


def steady(first: int, count: int, gap: int = 1_000, seed: int = 1) -> np.ndarray:
    jitter = np.random.default_rng(seed).integers(0, 20 * gap, count)
    return first + np.arange(count) * gap - jitter


@given(st.lists(st.lists(st.integers(0, 1_000), min_size=1, max_size=20), min_size=1))
def test_without_gaps_it_is_the_largest_tick(pages):
    """A stream that moves in steps of its usual size is followed to the tick."""
    followed, largest, start = Followed(), -math.inf, 0
    for page in pages:
        ticks = [start + t for t in page] + [start, start + 500, start + 1_000]
        largest = max(largest, *ticks)
        assert followed.page(ticks) == largest
        start += 500


@pytest.mark.parametrize("size", [1, 10, 1_000, 20_000])
def test_one_tuple_from_next_year_changes_nothing(size):
    """In pages of any size, early in the stream or late."""
    for place in (40, 60_000):
        ticks = steady(0, 100_000)
        ticks[place] += YEAR
        followed = Followed()
        for start in range(0, 100_000, size):
            if size == 1 and start > 500 and abs(start - place) > 500:
                continue
            reached = followed.page(ticks[start : start + size])
        assert reached <= 100_000 * 1_000


def test_a_first_tuple_from_next_year_is_outvoted():
    """Nothing is closed yet, so the progress comes back."""
    ticks = steady(0, 200)
    ticks[0] = YEAR
    followed = Followed()
    for tick in ticks:
        reached = followed.page([tick])
    assert reached == ticks[1:].max()


def test_one_sensor_whose_clock_is_ahead_does_not_lead():
    """One tuple in ten is a day ahead, for good: the nine lead."""
    followed = Followed()
    for page in range(50):
        ticks = steady(page * 100_000, 100)
        ticks[::10] += YEAR // 365
        reached = followed.page(ticks)
    assert reached <= 50 * 100_000


@pytest.mark.parametrize("size", [1, 7, 500])
def test_a_stream_that_moves_on_is_followed(size):
    """After a silence of an hour all tuples are an hour further: a few of them suffice."""
    hour = 3_600_000_000
    followed = Followed()
    for start in range(0, 5_000, size):
        followed.page(steady(start * 1_000, size, seed=start))
    for start in range(0, 30, size):
        reached = followed.page(steady(hour + start * 1_000, size, seed=start))
    assert reached > hour - 30_000


def test_it_does_not_go_back_once_a_heartbeat_stands():
    """A clock that steps back leaves the progress where it was."""
    followed = Followed()
    for page in range(10):
        reached = followed.page(steady(page * 100_000, 100))
    for page in range(5):
        assert followed.page(steady(page * 100_000, 100)) == reached

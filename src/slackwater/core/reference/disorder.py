"""Naive twins of disorder control: a loop over tuples, lists of all that was seen.

Each rule is a function of the tuples seen so far, in batches, to a slack. For tests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias


class Seen(NamedTuple):
    """One tuple: its batch, its tick, how late it was, and the progress after it."""

    batch: int
    tick: float
    lateness: float
    progress: float


Rule: TypeAlias = Callable[[Sequence[Seen]], float]


def run(rule: Rule, ticks: Sequence[float], period: int) -> Iterator[tuple[bool, float]]:
    """For each tuple whether it came below the heartbeat, and how far that trails after it."""
    seen: list[Seen] = []
    heartbeat, slack, progress = -math.inf, rule(()), ticks[0]
    for place, tick in enumerate(ticks):
        if place and place % period == 0:
            slack = rule(seen)
        lateness = max(progress - tick, 0.0)
        progress = max(progress, tick)
        lost = tick < heartbeat
        seen.append(Seen(place // period, tick, lateness, progress))
        heartbeat = max(heartbeat, progress - slack)
        yield lost, progress - heartbeat


def max_delay(seen: Sequence[Seen]) -> float:
    """The largest lateness."""
    return max((each.lateness for each in seen), default=0.0)


def adaptive_max(seen: Sequence[Seen], tuples: int) -> float:
    """Up at once; after so many tuples half-way down to the next."""
    slack = second = 0.0
    counted = 0
    for batch in _batches(seen):
        largest = max(each.lateness for each in batch)
        if largest > slack:
            slack = largest
        else:
            second = max(second, largest)
        counted += len(batch)
        if counted >= tuples:
            slack, second, counted = (slack + second) / 2, 0.0, 0
    return slack


def p95(seen: Sequence[Seen], per_second: float) -> float:
    """The 95% quantile of the last 5,000, within its bounds."""
    margins = ((250, math.inf), (500, 7 * 86_400.0), (750, 30.0), (1_000, 10.0))
    margin = next((m for rows, m in margins if len(seen) <= rows), 0.05) * per_second
    if math.isinf(margin):
        return margin
    last = sorted(each.lateness for each in seen[-5_000:])
    quantile = last[math.ceil(0.95 * len(last)) - 1]
    return min(max(quantile, margin), 7 * 86_400.0 * per_second)


def buffer_probability(n: float, sigma: float, theta: float) -> float:
    """The left side of equation 10 of Kim 2011: the share kept by a buffer of n tuples."""
    return (1 + math.erf(n * theta / math.sqrt(2 * sigma**2 + n * theta**2) / math.sqrt(2))) / 2


def exceeded_by(lateness: Sequence[float], weights: Sequence[float], share: float) -> float:
    """The smallest of some lateness values that at most a share of the weight exceeds."""
    total = sum(weights)
    for bound in sorted(set(lateness)):
        above = sum(w for late, w in zip(lateness, weights, strict=True) if late > bound)
        if above <= share * total:
            return bound
    return 0.0


def _batches(seen: Sequence[Seen]) -> Iterator[list[Seen]]:
    for number in range(seen[-1].batch + 1 if seen else 0):
        yield [each for each in seen if each.batch == number]

"""How the ticks of a page lie, small enough to be sent to every shard.

Distances are kept from a reference low in the page, where the tuples are that may be late.
Small pages are kept exactly. Of large ones the low tail is counted exactly in bins whose
width grows with the distance, and the rest, which is never late, from a sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from slackwater.core.intervals import Bound
from slackwater.core.time import Ticks

Floats = npt.NDArray[np.float64]
EXACT_TUPLES = 256
SAMPLE = 4_096
TAIL = 32
"""One tuple in so many lies below the reference."""
BINS_PER_DOUBLING = 32


@dataclass(frozen=True, eq=False)
class Spread:
    """``counts[i]`` tuples lie ``offsets[i]`` above the reference."""

    reference: Bound
    offsets: Floats
    counts: Floats

    def lateness(self, progress: Bound) -> Floats:
        """How far behind a progress the tuples are; never below zero."""
        late: Floats = np.maximum(float(progress - self.reference) - self.offsets, 0.0)
        return late

    def count_and_mean(self, progress: Bound) -> tuple[float, float]:
        """How many tuples there are, and how far their mean is behind a progress."""
        count = float(self.counts.sum())
        mean = float((self.offsets * self.counts).sum()) / count
        return count, float(progress - self.reference) - mean

    def to_json(self) -> list[Any]:
        return [self.reference, self.offsets.tolist(), self.counts.tolist()]

    @staticmethod
    def from_json(parts: list[Any]) -> Spread:
        reference, offsets, counts = parts
        return Spread(reference, np.asarray(offsets, np.float64), np.asarray(counts, np.float64))


def spread_of(ticks: Ticks) -> Spread:
    """The spread of some ticks, at least one."""
    if len(ticks) <= EXACT_TUPLES:
        reference = ticks.min().item()
        values, counts = np.unique(ticks, return_counts=True)
        return Spread(reference, _floats(values - reference), _floats(counts))
    sample = ticks[:: -(-len(ticks) // SAMPLE)]
    reference = np.partition(sample, len(sample) // TAIL)[len(sample) // TAIL].item()
    tail = ticks[ticks < reference]
    rest = sample[sample >= reference]
    low, low_counts = _binned(_floats(tail - reference))
    high, high_counts = _binned(_floats(rest - reference))
    weight = (len(ticks) - len(tail)) / len(rest)
    return Spread(
        reference, np.concatenate([low, high]), np.concatenate([low_counts, high_counts * weight])
    )


def _floats(values: npt.NDArray[Any]) -> Floats:
    return values.astype(np.float64)


def _binned(offsets: Floats) -> tuple[Floats, Floats]:
    """The middle of each bin that is not empty, and how many are in it."""
    mantissas, exponents = np.frexp(offsets)
    steps = np.floor(np.abs(mantissas) * 2 * BINS_PER_DOUBLING)
    codes = np.where(mantissas < 0, -1, 1) * (exponents * 4.0 * BINS_PER_DOUBLING + steps)
    _, first, counts = np.unique(codes, return_index=True, return_counts=True)
    middles = np.sign(mantissas[first]) * (steps[first] + 0.5) / (2 * BINS_PER_DOUBLING)
    return np.ldexp(middles, exponents[first]), _floats(counts)

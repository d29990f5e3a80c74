"""A decayed, mergeable sketch of lateness: bins whose width is a 64th of their value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BINS_PER_DOUBLING = 64
FORGOTTEN = 1e-6
"""A bin with less weight is emptied, so that what is stored stays small."""
PLACES = (0.3, 0.05)
"""Two memories are compared by the share of tuples beyond these quantiles of the longer."""
DOUBT = 2.0
"""In standard deviations: further apart, the shares are not those of the same stream."""
_LOWEST, _HIGHEST = -30, 64
"""Powers of two; what is below the lowest counts as not late."""
SIZE = 1 + (_HIGHEST - _LOWEST) * BINS_PER_DOUBLING


class LatenessSketch:
    """How many tuples were how late, older ones counting less."""

    def __init__(self, weights: Floats | None = None) -> None:
        self.weights: Floats = np.zeros(SIZE) if weights is None else weights

    @property
    def total(self) -> float:
        return float(self.weights.sum())

    def add(self, bins: npt.NDArray[np.int64], counts: Floats) -> None:
        self.weights += np.bincount(bins, weights=counts, minlength=SIZE)

    def decay(self, factor: float) -> None:
        self.weights *= factor
        self.weights[self.weights < FORGOTTEN] = 0.0

    def merge(self, other: LatenessSketch) -> None:
        self.weights += other.weights

    def exceeded_by(self, share: float) -> float:
        """The smallest lateness, up to a bin, that at most a share of all weight exceeds."""
        above = np.cumsum(self.weights[::-1])[::-1]
        allowed = share * above[0]
        inside = int(np.count_nonzero(above > allowed))
        return float(EDGES[max(inside - 1, 0)])

    def share_above(self, lateness: float) -> float:
        """The share of all weight in bins above a lateness."""
        first = int(np.searchsorted(EDGES, lateness, side="right"))
        return float(self.weights[first:].sum()) / self.total

    def agrees_with(self, longer: LatenessSketch) -> bool:
        """Whether these tuples may well come from what a longer memory describes."""
        return all(self._agrees_at(longer.exceeded_by(place), longer) for place in PLACES)

    def _agrees_at(self, bound: float, longer: LatenessSketch) -> bool:
        expected = longer.share_above(bound)
        spread = math.sqrt(max(expected * (1 - expected) * self.total, 1.0))
        return abs(self.share_above(bound) - expected) * self.total <= DOUBT * spread

    def widest(self, limit: float) -> float:
        """The largest lateness up to a limit."""
        held = np.flatnonzero(self.weights[: int(np.searchsorted(EDGES, limit)) + 1])
        return float(EDGES[held[-1]]) if len(held) else 0.0

    def to_json(self) -> list[Any]:
        held = np.flatnonzero(self.weights)
        return [held.tolist(), self.weights[held].tolist()]

    @staticmethod
    def from_json(parts: list[Any]) -> LatenessSketch:
        weights = np.zeros(SIZE)
        weights[np.asarray(parts[0], dtype=np.int64)] = parts[1]
        return LatenessSketch(weights)


def bins_of(lateness: Floats) -> npt.NDArray[np.int64]:
    """The bin of each lateness."""
    mantissas, exponents = np.frexp(lateness)
    steps = ((2 * mantissas - 1) * BINS_PER_DOUBLING).astype(np.int64)
    bins = 1 + (exponents - 1 - _LOWEST) * BINS_PER_DOUBLING + steps
    usable = lateness >= 2.0**_LOWEST
    return np.where(usable, np.minimum(bins, SIZE - 1), 0).astype(np.int64)


def _edges() -> Floats:
    """The upper end of each bin; that of the first is zero."""
    places = np.arange(SIZE - 1)
    steps = 1 + (places % BINS_PER_DOUBLING + 1) / BINS_PER_DOUBLING
    return np.append(0.0, np.ldexp(steps, places // BINS_PER_DOUBLING + _LOWEST))


EDGES = _edges()

"""VARIANCE and STDDEV, sample and population, merged without loss of digits.

The partial is (count, mean, sum of squared deviations), so that a merge never subtracts
two large numbers from each other. Where a value is NaN or infinite the result is NaN, and
where the squares are too large for a float it is infinite or NaN, as in Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.aggregates.base import Aggregate, as_floats, masked, needs_number
from slackwater.core.grouping import Groups
from slackwater.core.time import valid_rows

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Variance(Aggregate):
    """The sample variance; null for fewer than two values."""

    function: ClassVar[str] = "VAR_SAMP"
    sample: ClassVar[bool] = True
    root: ClassVar[bool] = False

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return needs_number(cls, inputs)

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(), pa.float64(), pa.float64())

    @property
    def result_type(self) -> pa.DataType:
        return pa.float64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        rows = valid_rows(inputs[0])
        groups = groups.where(rows)
        values = np.asarray(as_floats(inputs[0].filter(pa.array(rows))))
        ones = np.ones(len(values), dtype=np.int64)
        return _combined(groups, ones, values, np.zeros(len(values)))

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        counts, means, squares = (np.asarray(p) for p in partials)
        return _combined(groups, counts, means, squares)

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        counts, _, squares = (np.asarray(p) for p in partials)
        divisors = counts - 1 if self.sample else counts
        present = divisors > 0
        variance = squares / np.where(present, divisors, 1)
        return masked(np.sqrt(variance) if self.root else variance, present, pa.float64())


@dataclass(frozen=True)
class VariancePop(Variance):
    """The population variance."""

    function: ClassVar[str] = "VAR_POP"
    sample: ClassVar[bool] = False


@dataclass(frozen=True)
class Stddev(Variance):
    """The sample standard deviation; null for fewer than two values."""

    function: ClassVar[str] = "STDDEV_SAMP"
    root: ClassVar[bool] = True


@dataclass(frozen=True)
class StddevPop(VariancePop):
    """The population standard deviation."""

    function: ClassVar[str] = "STDDEV_POP"
    root: ClassVar[bool] = True


def _combined(
    groups: Groups, counts: npt.NDArray[np.int64], means: Floats, squares: Floats
) -> list[pa.Array]:
    totals = groups.total(counts)
    safe = np.where(totals > 0, totals, 1)
    # sums of deviations from the group's first mean: exact where all values are alike
    anchors = np.zeros(groups.count)
    present = counts > 0
    anchors[groups.codes[present][::-1]] = means[present][::-1]
    weights: Floats = counts.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # infinities go through to the result
        offsets: Floats = np.where(present, means - anchors[groups.codes], 0.0)
        mean = anchors + _sum(groups, weights * offsets) / safe
        deviations = np.where(present, means - mean[groups.codes], 0.0)
        spread = _sum(groups, squares) + _sum(groups, weights * deviations**2)
    return [pa.array(totals), pa.array(mean), pa.array(spread)]


def _sum(groups: Groups, values: Floats) -> Floats:
    return np.bincount(groups.codes, weights=values, minlength=groups.count).astype(
        np.float64, copy=False
    )

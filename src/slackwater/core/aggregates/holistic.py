"""Exact aggregates that need every value: DISTINCT of anything, PERCENTILE and MEDIAN.

Their partial is the list of the values, so they are merged, revised and reported like all
others; only the roll-up is left out, since its nodes would hold every value once a level.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.aggregates.base import (
    Aggregate,
    as_floats,
    masked,
    needs_number,
    needs_share,
)
from slackwater.core.grouping import Groups, group
from slackwater.core.time import valid_rows

Offsets = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OverDistinct(Aggregate):
    """Another aggregate over the distinct values of its one argument, nulls left out."""

    inner: Aggregate

    function: ClassVar[str] = "DISTINCT"
    holistic: ClassVar[bool] = True

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.large_list(self.inputs[0]),)

    @property
    def result_type(self) -> pa.DataType:
        return self.inner.result_type

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        rows = valid_rows(inputs[0])
        return [_distinct(groups.codes[rows], inputs[0].filter(pa.array(rows)), groups.count)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        codes, values = exploded(partials[0])
        return [_distinct(groups.codes[codes], values, groups.count)]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        codes, values = exploded(partials[0])
        count = len(partials[0])
        groups = Groups(codes, count, np.bincount(codes, minlength=count))
        return self.inner.finish(self.inner.lift(groups, [values]))


@dataclass(frozen=True)
class Percentile(Aggregate):
    """The value at a share of the way through the sorted values, between neighbours in line."""

    share: float = 0.5

    function: ClassVar[str] = "PERCENTILE"
    parameters: ClassVar[tuple[str, ...]] = ("share",)
    holistic: ClassVar[bool] = True
    constants_needed: ClassVar[int] = 1

    @classmethod
    def check_constants(cls, constants: Sequence[float]) -> str | None:
        return needs_share(cls, constants)

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return needs_number(cls, inputs)

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.large_list(pa.float64()),)

    @property
    def result_type(self) -> pa.DataType:
        return pa.float64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        rows = valid_rows(inputs[0])
        values = as_floats(inputs[0].filter(pa.array(rows)))
        return [lists(groups.codes[rows], values, groups.count)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        codes, values = exploded(partials[0])
        return [lists(groups.codes[codes], values, groups.count)]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        codes, column = exploded(partials[0])
        values = np.asarray(column)
        values = values[np.lexsort((values, codes))]
        sizes = np.bincount(codes, minlength=len(partials[0]))
        present = sizes > 0
        starts = np.cumsum(sizes) - sizes
        place = starts + self.share * np.maximum(sizes - 1, 0)
        below = np.where(present, np.floor(place), 0).astype(np.int64)
        above = np.where(present, np.ceil(place), 0).astype(np.int64)
        if len(values) == 0:
            return pa.nulls(len(sizes), pa.float64())
        low, high = values[below], values[above]
        with np.errstate(invalid="ignore"):  # infinity less infinity, where neighbours differ
            between = low + (place - below) * (high - low)
        return masked(np.where(low == high, low, between), present, pa.float64())


@dataclass(frozen=True)
class Median(Percentile):
    """The middle value; between the two middle ones where their number is even."""

    function: ClassVar[str] = "MEDIAN"
    parameters: ClassVar[tuple[str, ...]] = ()
    constants_needed: ClassVar[int] = 0


def exploded(column: pa.LargeListArray) -> tuple[npt.NDArray[np.int64], pa.Array]:
    """All values of a column of lists, and the row of each."""
    sizes = np.diff(np.asarray(column.offsets))
    return np.repeat(np.arange(len(column)), sizes), column.flatten()


def lists(codes: npt.NDArray[np.int64], values: pa.Array, count: int) -> pa.LargeListArray:
    """The values of each group as a list, in the order in which they come."""
    if (codes[1:] < codes[:-1]).any():
        order = np.argsort(codes, kind="stable")
        values = values.take(pa.array(order))
    sizes = np.bincount(codes, minlength=count)
    return pa.LargeListArray.from_arrays(pa.array(np.append(0, np.cumsum(sizes))), values)


def _distinct(codes: npt.NDArray[np.int64], values: pa.Array, count: int) -> pa.LargeListArray:
    if len(values) == 0:
        return lists(codes, values, count)
    _, (found, distinct) = group([codes, values])
    return lists(np.asarray(found), distinct, count)

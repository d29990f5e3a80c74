"""MIN, MAX, ARG_MIN, ARG_MAX, FIRST and LAST.

All answers are the same whatever the order of arrival: where two tuples tie, the smaller
value wins, null last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from slackwater.core.aggregates.base import (
    Aggregate,
    Mask,
    best_rows,
    masked,
    order_keys,
    take_rows,
)
from slackwater.core.grouping import Groups
from slackwater.core.time import valid_rows


def _needs_order(cls: type[Aggregate], type_: pa.DataType) -> str | None:
    if pa.types.is_nested(type_):
        return f"{cls.function} needs values with an order, but this is {type_}"
    return None


@dataclass(frozen=True)
class Min(Aggregate):
    """The smallest value that is not null; NaN counts as the largest number."""

    function: ClassVar[str] = "MIN"
    largest: ClassVar[bool] = False

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return _needs_order(cls, inputs[0])

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return self.inputs

    @property
    def result_type(self) -> pa.DataType:
        return self.inputs[0]

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        column = inputs[0]
        if pa.types.is_float64(column.type) or pa.types.is_int64(column.type):
            fast = self._direct(groups, column)
            if fast is not None:
                return [fast]
        rows = best_rows(groups, order_keys(column), valid_rows(column), self.largest)
        return [take_rows(column, rows)]

    def _direct(self, groups: Groups, column: pa.Array) -> pa.Array | None:
        """Scatter the values themselves; not for minima where NaN would spread."""
        rows = valid_rows(column)
        if column.null_count:
            groups, column = groups.where(rows), column.filter(pa.array(rows))
        values = np.asarray(column)
        if not self.largest and values.dtype == np.float64 and np.isnan(values).any():
            return None
        if values.dtype == np.float64:
            start = -np.inf if self.largest else np.inf
        else:
            limits = np.iinfo(np.int64)
            start = limits.min if self.largest else limits.max
        extremes = np.full(groups.count, start, dtype=values.dtype)
        with np.errstate(invalid="ignore"):  # a NaN among the values is no accident
            (np.maximum if self.largest else np.minimum).at(extremes, groups.codes, values)
        return masked(extremes, groups.sizes > 0, column.type)

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        return self.lift(groups, partials)

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        return partials[0]


@dataclass(frozen=True)
class Max(Min):
    """The largest value that is not null; NaN counts as the largest number."""

    function: ClassVar[str] = "MAX"
    largest: ClassVar[bool] = True


@dataclass(frozen=True)
class ArgMin(Aggregate):
    """The first argument where the second, not null, is smallest."""

    function: ClassVar[str] = "ARG_MIN"
    arity: ClassVar[int] = 2
    largest: ClassVar[bool] = False

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return _needs_order(cls, inputs[1]) or _needs_order(cls, inputs[0])

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return self.inputs

    @property
    def result_type(self) -> pa.DataType:
        return self.inputs[0]

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        return self._best(groups, inputs, valid_rows(inputs[1]))

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        return self.lift(groups, partials)

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        return partials[0]

    def _best(self, groups: Groups, inputs: Sequence[pa.Array], rows: Mask) -> list[pa.Array]:
        values, by = inputs
        keys = order_keys(by)
        best = best_rows(groups, keys, rows, self.largest)
        chosen = np.where(best >= 0, keys[best], 0)
        tied = rows & (keys == chosen[groups.codes])
        winners = best_rows(groups, order_keys(values), tied & valid_rows(values), largest=False)
        winners = np.where(winners >= 0, winners, best)
        return [take_rows(values, winners), take_rows(by, winners)]


@dataclass(frozen=True)
class ArgMax(ArgMin):
    """The first argument where the second, not null, is largest."""

    function: ClassVar[str] = "ARG_MAX"
    largest: ClassVar[bool] = True


@dataclass(frozen=True)
class First(ArgMin):
    """The value of the tuple that is first by WATTR, null or not."""

    function: ClassVar[str] = "FIRST"
    arity: ClassVar[int] = 1
    uses_time: ClassVar[bool] = True

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return _needs_order(cls, inputs[0])


@dataclass(frozen=True)
class Last(First):
    """The value of the tuple that is last by WATTR, null or not."""

    function: ClassVar[str] = "LAST"
    largest: ClassVar[bool] = True


@dataclass(frozen=True)
class FirstPresent(First):
    """The value of the first tuple by WATTR where it is not null (IGNORE NULLS)."""

    function: ClassVar[str] = "FIRST IGNORE NULLS"

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        return self._best(groups, inputs, valid_rows(inputs[0]))


@dataclass(frozen=True)
class LastPresent(FirstPresent):
    """The value of the last tuple by WATTR where it is not null (IGNORE NULLS)."""

    function: ClassVar[str] = "LAST IGNORE NULLS"
    largest: ClassVar[bool] = True

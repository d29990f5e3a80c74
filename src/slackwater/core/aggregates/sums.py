"""SUM and AVG: exact for integers and decimals, floating point otherwise.

An exact sum is kept in 32-bit limbs, two for integers and four for decimals, each in an
int64: limb sums cannot overflow, and a result too large for its type is seen and becomes
null (as ``try_sum`` in Spark) instead of wrapping round or stopping the stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.aggregates.base import Aggregate, masked, needs_number
from slackwater.core.grouping import Groups
from slackwater.core.time import valid_rows

Limbs = list[npt.NDArray[np.int64]]
_LIMB = np.int64(0xFFFFFFFF)


@dataclass(frozen=True)
class Sum(Aggregate):
    """The sum of the values that are not null; null where there are none."""

    function: ClassVar[str] = "SUM"
    invertible: ClassVar[bool] = True

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return needs_number(cls, inputs)

    @property
    def limbs(self) -> int:
        """How many 32-bit limbs an exact sum takes; none for floating point."""
        if pa.types.is_decimal(self.inputs[0]):
            return 4
        return 2 if pa.types.is_integer(self.inputs[0]) else 0

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(),) * self.limbs if self.limbs else (pa.float64(),)

    @property
    def result_type(self) -> pa.DataType:
        type_ = self.inputs[0]
        if pa.types.is_decimal(type_):
            return pa.decimal128(min(38, type_.precision + 10), type_.scale)
        return pa.int64() if self.limbs else pa.float64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        column = inputs[0]
        if not self.limbs:
            return [_float_sum(groups, column.cast(pa.float64()))]
        if column.null_count:
            rows = valid_rows(column)
            groups, column = groups.where(rows), column.filter(pa.array(rows))
        parts = _decimal_limbs(column) if self.limbs == 4 else _integer_limbs(column)
        return _limb_columns(_carried(_limb_sums(groups, parts)), groups.sizes > 0)

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        if not self.limbs:
            return [_float_sum(groups, partials[0])]
        if partials[0].null_count:
            rows = valid_rows(partials[0])
            groups = groups.where(rows)
            partials = [part.filter(pa.array(rows)) for part in partials]
        parts: Limbs = [np.asarray(part) for part in partials]
        return _limb_columns(_carried(_limb_sums(groups, parts)), groups.sizes > 0)

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        if not self.limbs:
            return partials[0]
        present = valid_rows(partials[0])
        parts: Limbs = [np.asarray(part.fill_null(0)) for part in partials]
        if self.limbs == 4:
            return _decimal_result(parts, present, self.result_type)
        fits = present & (parts[1] >= -(2**31)) & (parts[1] < 2**31)
        return masked((parts[1] << 32) | parts[0], fits, pa.int64())


@dataclass(frozen=True)
class Avg(Aggregate):
    """The mean of the values that are not null; null where there are none."""

    function: ClassVar[str] = "AVG"
    invertible: ClassVar[bool] = True

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return needs_number(cls, inputs)

    @property
    def _sum(self) -> Sum:
        return Sum(self.inputs)

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (*self._sum.partial_types, pa.int64())

    @property
    def result_type(self) -> pa.DataType:
        type_ = self.inputs[0]
        if not pa.types.is_decimal(type_):
            return pa.float64()
        return pa.decimal128(min(38, type_.precision + 4), min(38, type_.scale + 4))

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        counts = groups.where(valid_rows(inputs[0])).sizes
        return [*self._sum.lift(groups, inputs), pa.array(counts)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        counts = groups.total(np.asarray(partials[-1]))
        return [*self._sum.merge(groups, partials[:-1]), pa.array(counts)]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        counts = np.asarray(partials[-1])
        if self._sum.limbs == 4:
            return self._finish_decimal(partials, counts)
        present = counts > 0
        if self._sum.limbs == 2:
            low, high = (np.asarray(p.fill_null(0), dtype=np.float64) for p in partials[:2])
            sums = high * 2.0**32 + low
        else:
            sums = np.asarray(partials[0].fill_null(0.0))
        return masked(sums / np.where(present, counts, 1), present, pa.float64())

    def _finish_decimal(
        self, partials: Sequence[pa.Array], counts: npt.NDArray[np.int64]
    ) -> pa.Array:
        """Divide with twenty digits to spare, then round half away from zero, as Spark does."""
        scale = self.inputs[0].scale
        present = valid_rows(partials[0])
        parts: Limbs = [np.asarray(part.fill_null(0)) for part in partials[:-1]]
        sums = _decimal_result(parts, present, pa.decimal128(38, scale))
        divisors = pa.array(np.where(counts > 0, counts, 1)).cast(pa.decimal256(19, 0))
        quotients = pc.divide(sums.cast(pa.decimal256(38, scale)), divisors)
        rounded = pc.round(quotients, self.result_type.scale, "half_towards_infinity")
        return _fitting(rounded, self.result_type)


def _float_sum(groups: Groups, column: pa.Array) -> pa.Array:
    if column.null_count:
        rows = valid_rows(column)
        groups, column = groups.where(rows), column.filter(pa.array(rows))
    values = np.asarray(column)
    sums = np.bincount(groups.codes, weights=values, minlength=groups.count)
    return masked(sums, groups.sizes > 0, pa.float64())


def _integer_limbs(column: pa.Array) -> Limbs:
    values = np.asarray(column.cast(pa.int64()))
    return [values & _LIMB, values >> 32]


def _decimal_limbs(column: pa.Array) -> Limbs:
    wide = column.cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(wide.buffers()[1], dtype=np.int64)
    words = words[2 * wide.offset : 2 * (wide.offset + len(wide))]
    low, high = words[0::2], words[1::2]
    return [low & _LIMB, (low >> 32) & _LIMB, high & _LIMB, high >> 32]


def _limb_sums(groups: Groups, parts: Limbs) -> Limbs:
    return [groups.total(part) for part in parts]


def _carried(parts: Limbs) -> Limbs:
    """Each limb but the last into 32 bits, the excess into the next."""
    result = []
    carry = np.zeros_like(parts[0])
    for part in parts[:-1]:
        part = part + carry
        result.append(part & _LIMB)
        carry = part >> 32
    return [*result, parts[-1] + carry]


def _limb_columns(parts: Limbs, present: npt.NDArray[np.bool_]) -> list[pa.Array]:
    return [masked(part, present, pa.int64()) for part in parts]


def _decimal_result(parts: Limbs, present: npt.NDArray[np.bool_], type_: pa.DataType) -> pa.Array:
    words = np.empty(2 * len(parts[0]), dtype=np.int64)
    words[0::2] = parts[0] | (parts[1] << 32)
    words[1::2] = parts[2] | (parts[3] << 32)
    fits = present & (parts[3] >= -(2**31)) & (parts[3] < 2**31)
    bits = np.packbits(fits, bitorder="little")
    buffers = [pa.py_buffer(bits), pa.py_buffer(words)]
    wide = pa.Array.from_buffers(pa.decimal128(38, type_.scale), len(fits), buffers)
    return _fitting(wide, type_)


def _fitting(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Decimals in a type that keeps their digits after the point; null where one is too large."""
    largest = Decimal((0, (9,) * type_.precision, -type_.scale))
    small = pc.less_equal(pc.abs(values), pa.scalar(largest, values.type))
    return pc.if_else(small, values, pa.scalar(None, values.type)).cast(type_)

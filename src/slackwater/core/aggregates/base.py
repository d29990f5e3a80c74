"""What an aggregate declares, and the scatter primitives that all of them are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.grouping import Groups

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Aggregate(ABC):
    """One aggregate call over inputs of known types.

    ``merge`` is associative and commutative, so partials may be combined in any order and
    along any tree. What else an aggregate can promise stands in the class attributes.
    """

    inputs: tuple[pa.DataType, ...]

    function: ClassVar[str]
    arity: ClassVar[int] = 1
    uses_time: ClassVar[bool] = False
    """Whether ``lift`` wants the tuples' ticks as one more input, the last."""
    invertible: ClassVar[bool] = False
    """Whether a partial can be taken out of a merge again."""
    approximate: ClassVar[bool] = False
    holistic: ClassVar[bool] = False
    """Whether a partial holds every value, so that merging saves nothing."""
    parameters: ClassVar[tuple[str, ...]] = ()
    """The constants that a call may give after its arguments; each is a field."""
    constants_needed: ClassVar[int] = 0

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        """Why these input types cannot be had, or None."""
        return None

    @classmethod
    def check_constants(cls, constants: Sequence[float]) -> str | None:
        """Why these constants cannot be had, or None."""
        return None

    @property
    @abstractmethod
    def partial_types(self) -> tuple[pa.DataType, ...]: ...

    @property
    @abstractmethod
    def result_type(self) -> pa.DataType: ...

    @abstractmethod
    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]: ...

    @abstractmethod
    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]: ...

    @abstractmethod
    def finish(self, partials: Sequence[pa.Array]) -> pa.Array: ...


def numeric(type_: pa.DataType) -> bool:
    plain = pa.types.is_integer(type_) or pa.types.is_floating(type_)
    return bool(plain or pa.types.is_decimal(type_))


def needs_number(cls: type[Aggregate], inputs: Sequence[pa.DataType]) -> str | None:
    if numeric(inputs[0]):
        return None
    return f"{cls.function} needs a number, but this is {inputs[0]}"


def needs_share(cls: type[Aggregate], constants: Sequence[float]) -> str | None:
    if all(0 <= share <= 1 for share in constants):
        return None
    return f"{cls.function} needs a share from 0 to 1, not {constants[0]:g}"


def as_floats(column: pa.Array) -> pa.Array:
    """Numbers as float64; an integer of more than 53 bits loses its last digits, as in Spark."""
    return column.cast(pa.float64(), safe=False)


def masked(values: npt.NDArray[np.generic], present: Mask, type_: pa.DataType) -> pa.Array:
    """An array that is null where a group has nothing."""
    return pa.array(values, type_, mask=None if present.all() else ~present)


def order_keys(column: pa.Array) -> npt.NDArray[np.int64]:
    """Integers in the order of the values; the null rows' keys mean nothing.

    Floats are ordered as in Spark: NaN above everything, one zero. Types without a
    numeric form are ranked among the values of this very column.
    """
    if pa.types.is_floating(column.type):
        return _float_keys(np.asarray(column.cast(pa.float64()).fill_null(0.0)))
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_integer(column.type):
        return np.asarray(column.fill_null(0).cast(pa.int64()))
    if pa.types.is_temporal(column.type) and column.type.bit_width in (32, 64):
        width = pa.int32() if column.type.bit_width == 32 else pa.int64()
        return np.asarray(column.view(width).fill_null(0).cast(pa.int64()))
    return _ranks(column)


def _float_keys(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    bits = plain.view(np.int64)
    return bits ^ ((bits >> 63) & np.int64(0x7FFFFFFFFFFFFFFF))


def _ranks(column: pa.Array) -> npt.NDArray[np.int64]:
    encoded = pc.dictionary_encode(column)
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[np.asarray(order)] = np.arange(len(order))
    indices = np.asarray(encoded.indices.fill_null(0))
    return ranks[indices] if len(ranks) else np.zeros(len(column), dtype=np.int64)


def best_rows(
    groups: Groups, keys: npt.NDArray[np.int64], rows: Mask, largest: bool
) -> npt.NDArray[np.int64]:
    """Per group the index of a row whose key is extreme among ``rows``; -1 where there is none."""
    best = np.full(groups.count, -1, dtype=np.int64)
    at = np.flatnonzero(rows)
    if len(at) == 0:
        return best
    codes, keys = groups.codes[at], keys[at]
    start = np.iinfo(np.int64).min if largest else np.iinfo(np.int64).max
    extremes = np.full(groups.count, start, dtype=np.int64)
    (np.maximum if largest else np.minimum).at(extremes, codes, keys)
    hits = keys == extremes[codes]
    best[codes[hits][::-1]] = at[hits][::-1]
    return best


def take_rows(column: pa.Array, rows: npt.NDArray[np.int64]) -> pa.Array:
    """The values at the given rows, null at -1."""
    return column.take(pa.array(rows, pa.int64(), mask=rows < 0))

"""The windowing attribute (WATTR) as numbers.

Every ordered attribute is mapped to *ticks*: microseconds for timestamps, the value
itself for integers, scaled integers for decimals, and float64 for floating point.
Core compares ticks only; a host maps to ticks on the way in and back on the way out.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.intervals import Bound

Ticks: TypeAlias = npt.NDArray[np.int64] | npt.NDArray[np.float64]
MICROS_PER_SECOND = 1_000_000


@dataclass(frozen=True)
class TimeDomain:
    """How one WATTR type becomes ticks and back."""

    type: pa.DataType

    @property
    def is_timestamp(self) -> bool:
        return bool(pa.types.is_timestamp(self.type))

    @property
    def is_float(self) -> bool:
        return bool(pa.types.is_floating(self.type))

    @property
    def is_decimal(self) -> bool:
        return bool(pa.types.is_decimal(self.type))

    @property
    def per_unit(self) -> int:
        """Ticks in one unit of the attribute; a timestamp's unit is the second."""
        if self.is_timestamp:
            return MICROS_PER_SECOND
        return 10**self.type.scale if self.is_decimal else 1

    @staticmethod
    def supports(type_: pa.DataType) -> bool:
        checks = (
            pa.types.is_timestamp,
            pa.types.is_integer,
            pa.types.is_floating,
        )
        if pa.types.is_uint64(type_):  # half of its values do not fit into a tick
            return False
        small_decimal = pa.types.is_decimal(type_) and type_.precision <= 18
        return any(check(type_) for check in checks) or small_decimal

    def ticks(self, values: pa.Array) -> tuple[Ticks, npt.NDArray[np.bool_]]:
        """Ticks of an array, and which of them are usable (neither null nor NaN nor infinite)."""
        valid = valid_rows(values)
        if self.is_float:
            floats = np.asarray(pc.fill_null(values.cast(pa.float64()), math.nan))
            return floats, np.isfinite(floats)
        return self._integers(values), valid

    def _integers(self, values: pa.Array) -> npt.NDArray[np.int64]:
        if self.is_timestamp:
            # nanosecond stamps lose what is below a microsecond, as in Spark
            values = values.cast(pa.timestamp("us", self.type.tz), safe=False).cast(pa.int64())
        elif self.is_decimal:
            values = decimal_units(values)
        else:
            values = values.cast(pa.int64())
        return np.asarray(values.fill_null(0))

    def values(self, ticks: Ticks) -> pa.Array:
        """The inverse of ``ticks``, in the type that results carry."""
        if self.is_float:
            return pa.array(ticks, pa.float64())
        whole = pa.array(np.asarray(ticks, dtype=np.int64), pa.int64())
        if self.is_timestamp:
            return whole.cast(self.result_type)
        if self.is_decimal:
            return decimals(np.asarray(ticks, dtype=np.int64), self.result_type)
        return whole.cast(self.result_type)

    @property
    def result_type(self) -> pa.DataType:
        if self.is_timestamp:
            return pa.timestamp("us", self.type.tz)
        if self.is_float:
            return pa.float64()
        return pa.decimal128(38, self.type.scale) if self.is_decimal else pa.int64()

    def bound(self, value: Any) -> Bound:
        """One value of the attribute, as a user writes it, in ticks."""
        if isinstance(value, bool) or value is None:
            raise ValueError(f"{value!r} is not a {self.type} value")
        if self.is_timestamp:
            return _timestamp_ticks(value)
        if self.is_float:
            return float(value)
        ticks = Fraction(str(value)) * self.per_unit
        if ticks.denominator != 1:
            raise ValueError(f"{value!r} is finer than the attribute's type {self.type}")
        return int(ticks)

    def exact(self, length: Fraction) -> Bound:
        """A length in ticks as a plain number."""
        return float(length) if self.is_float else int(length)

    def shifted(self, ticks: Ticks, by: Fraction) -> Ticks:
        """Ticks moved by a length."""
        if self.is_float:
            return np.asarray(ticks, dtype=np.float64) + float(by)
        return np.asarray(ticks, dtype=np.int64) + int(by)

    def after(self, tick: Bound) -> Bound:
        """The smallest tick above: turns ``<= t`` into ``< after(t)``."""
        if isinstance(tick, float) and math.isinf(tick):
            return tick
        return math.nextafter(tick, math.inf) if self.is_float else int(tick) + 1

    def before(self, tick: Bound) -> Bound:
        """The largest tick below."""
        if isinstance(tick, float) and math.isinf(tick):
            return tick
        return math.nextafter(tick, -math.inf) if self.is_float else int(tick) - 1

    def last_before(self, ticks: Ticks) -> Ticks:
        """The largest tick below each; a result row's own time is just before its window's end."""
        if self.is_float:
            return np.nextafter(ticks, -np.inf)
        return ticks - 1

    def show(self, tick: Bound) -> str:
        """A tick as a person reads it."""
        if isinstance(tick, float) and math.isinf(tick):
            return "-" if tick < 0 else "end"
        if self.is_timestamp:
            moment = dt.datetime.fromtimestamp(0, dt.UTC) + dt.timedelta(microseconds=int(tick))
            return moment.replace(tzinfo=None).isoformat(sep=" ")
        return str(tick if self.is_float else Fraction(int(tick), self.per_unit))

    def show_length(self, ticks: float) -> str:
        """A distance between ticks as a person reads it."""
        if math.isinf(ticks):
            return "-"
        return f"{ticks / self.per_unit:g}" + (" s" if self.is_timestamp else "")


def valid_rows(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Which values are not null."""
    if column.null_count == 0:
        return np.ones(len(column), dtype=bool)
    return np.asarray(pc.is_valid(column))


def _timestamp_ticks(value: Any) -> int:
    if isinstance(value, (int, float, Decimal)):
        return int(Fraction(str(value)) * MICROS_PER_SECOND)
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if not isinstance(moment, dt.datetime):
        raise ValueError(f"{value!r} is not a timestamp")
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return (moment - dt.datetime.fromtimestamp(0, dt.UTC)) // dt.timedelta(microseconds=1)


def decimal_units(values: pa.Array) -> pa.Array:
    """A decimal column of at most 18 digits as int64 in units of its last digit."""
    data = values.cast(pa.decimal128(38, values.type.scale))
    words = np.frombuffer(data.buffers()[1], dtype=np.int64)
    low_words = words[2 * data.offset : 2 * (data.offset + len(data)) : 2]
    return pa.array(low_words.copy(), pa.int64(), mask=np.asarray(pc.is_null(values)))


def decimals(units: npt.NDArray[np.int64], type_: pa.DataType) -> pa.Array:
    """The inverse of ``decimal_units``."""
    words = np.empty(2 * len(units), dtype=np.int64)
    words[0::2] = units
    words[1::2] = units >> 63
    return pa.Array.from_buffers(type_, len(units), [None, pa.py_buffer(words)])

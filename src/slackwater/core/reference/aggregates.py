"""Naive twins of the aggregates: one list of Python values in, one value out.

For tests and for clarity; the standard library only. Integers and decimals are summed
exactly, null is None, and what does not fit its result type is null. Where two tuples tie,
the smaller value wins and null comes last; NaN is above every number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

Values: TypeAlias = Sequence[Any]
DIGITS = 38
"""The most digits that a decimal can have."""


class DecimalType(NamedTuple):
    """A column's decimal type; other columns have none."""

    precision: int
    scale: int


def evaluate(function: str, columns: Sequence[Values], decimal: DecimalType | None = None) -> Any:
    """An aggregate by its name over argument columns; FIRST and LAST take the ticks last.

    COUNT(*) takes one column in which nothing is null.

    >>> evaluate("SUM", [[1, None, 4]])
    5
    >>> evaluate("LAST", [["a", "b", None], [3, 7, 7]])
    'b'
    """
    if decimal is not None and function in _OF_DECIMALS:
        return _OF_DECIMALS[function](columns[0], decimal)
    return TWINS[function](*columns)


def count(values: Values) -> int:
    """How many are not null."""
    return len(_present(values))


def total(values: Values) -> int | float | None:
    """The sum: exact for integers, and null outside 64 bits."""
    present = _present(values)
    if not present:
        return None
    if any(isinstance(value, float) for value in present):
        return _float_total(present)
    exact: int = sum(present)
    return exact if -(2**63) <= exact < 2**63 else None


def total_of_decimals(values: Values, type_: DecimalType) -> Decimal | None:
    """The sum in ten digits more; null where that is too few."""
    present = [Fraction(value) for value in _present(values)]
    if not present:
        return None
    return _decimal(sum(present, Fraction()), min(DIGITS, type_.precision + 10), type_.scale)


def mean(values: Values) -> float | None:
    """The mean in floating point; for integers of the exact sum."""
    present = _present(values)
    if not present:
        return None
    if any(isinstance(value, float) for value in present):
        return _float_total(present) / len(present)
    return float(Fraction(sum(present), len(present)))


def mean_of_decimals(values: Values, type_: DecimalType) -> Decimal | None:
    """The mean with four more digits after the point, rounded half away from zero."""
    present = [Fraction(value) for value in _present(values)]
    if not present:
        return None
    sum_ = sum(present, Fraction())
    if _decimal(sum_, DIGITS, type_.scale) is None:
        return None
    precision, scale = min(DIGITS, type_.precision + 4), min(DIGITS, type_.scale + 4)
    return _decimal(sum_ / len(present), precision, scale)


def smallest(values: Values) -> Any:
    """The smallest value that is not null."""
    return min(_present(values), key=rank, default=None)


def largest(values: Values) -> Any:
    """The largest value that is not null."""
    return max(_present(values), key=rank, default=None)


def arg_min(values: Values, by: Values) -> Any:
    """The value where ``by``, not null, is smallest."""
    return _at_extreme(values, by, smallest(by))


def arg_max(values: Values, by: Values) -> Any:
    """The value where ``by``, not null, is largest."""
    return _at_extreme(values, by, largest(by))


def first_present(values: Values, ticks: Values) -> Any:
    """The value of the first tuple where it is not null."""
    return arg_min(values, _ticks_of_present(values, ticks))


def last_present(values: Values, ticks: Values) -> Any:
    """The value of the last tuple where it is not null."""
    return arg_max(values, _ticks_of_present(values, ticks))


def variance(values: Values, sample: bool) -> float | None:
    """The mean square distance from the mean, exact until the last step; NaN beside infinity."""
    present = [float(value) for value in _present(values)]
    divisor = len(present) - 1 if sample else len(present)
    if divisor < 1:
        return None
    if not all(math.isfinite(value) for value in present):
        return math.nan
    exact = [Fraction(value) for value in present]
    centre = sum(exact, Fraction()) / len(exact)
    try:
        return float(sum(((value - centre) ** 2 for value in exact), Fraction()) / divisor)
    except OverflowError:
        return math.inf


def deviation(values: Values, sample: bool) -> float | None:
    """The root of the variance."""
    square = variance(values, sample)
    return None if square is None else math.sqrt(square)


def distinct(values: Values) -> list[Any]:
    """The different values that are not null; one NaN and one zero."""
    present = [0.0 if value == 0.0 else value for value in _present(values)]
    return list({rank(value): value for value in present}.values())


def percentile(values: Values, share: float = 0.5) -> float | None:
    """Between the two neighbours at a share of the way through the sorted values, in line."""
    present = sorted((float(value) for value in _present(values)), key=rank)
    if not present:
        return None
    place = share * (len(present) - 1)
    low, high = present[math.floor(place)], present[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


TWINS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "COUNT": count,
        "SUM": total,
        "AVG": mean,
        "MIN": smallest,
        "MAX": largest,
        "VAR_SAMP": lambda values: variance(values, sample=True),
        "VAR_POP": lambda values: variance(values, sample=False),
        "STDDEV_SAMP": lambda values: deviation(values, sample=True),
        "STDDEV_POP": lambda values: deviation(values, sample=False),
        "FIRST": arg_min,
        "LAST": arg_max,
        "FIRST IGNORE NULLS": first_present,
        "LAST IGNORE NULLS": last_present,
        "ARG_MIN": arg_min,
        "ARG_MAX": arg_max,
        "MEDIAN": percentile,
        "PERCENTILE": percentile,
        "APPROX_COUNT_DISTINCT": lambda values: len(distinct(values)),
        "APPROX_PERCENTILE": lambda values: percentile(
            [value for value in _present(values) if math.isfinite(value)]
        ),
    }
)

_OF_DECIMALS: Mapping[str, Callable[[Values, DecimalType], Any]] = MappingProxyType(
    {"SUM": total_of_decimals, "AVG": mean_of_decimals}
)


def rank(value: Any) -> tuple[bool, Any]:
    """A sort key: NaN above everything, the rest as Python orders it."""
    if isinstance(value, float) and math.isnan(value):
        return True, 0.0
    return False, value


def _present(values: Values) -> list[Any]:
    return [value for value in values if value is not None]


def _float_total(values: Values) -> float:
    sum_ = 0.0
    for value in values:
        sum_ += value
    return sum_


def _decimal(exact: Fraction, precision: int, scale: int) -> Decimal | None:
    """A number rounded half away from zero to a decimal type; null where it does not fit."""
    units = math.floor(abs(exact) * 10**scale + Fraction(1, 2))
    if units >= 10**precision:
        return None
    digits = tuple(int(digit) for digit in str(units))
    return Decimal((1 if exact < 0 else 0, digits, -scale))


def _at_extreme(values: Values, by: Values, extreme: Any) -> Any:
    if extreme is None:
        return None
    hits = [
        value
        for value, key in zip(values, by, strict=True)
        if key is not None and rank(key) == rank(extreme)
    ]
    return smallest(hits)


def _ticks_of_present(values: Values, ticks: Values) -> list[Any]:
    pairs = zip(values, ticks, strict=True)
    return [None if value is None else tick for value, tick in pairs]

"""Values as YAML has them, as values of a column's type, and as a person reads them."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa


def typed_array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """A column of a type from what YAML read; text is parsed where the column is not text."""
    if pa.types.is_decimal(type_):
        return pa.array([None if v is None else Decimal(str(v)) for v in values], type_)
    if any(isinstance(v, str) for v in values) and not pa.types.is_string(type_):
        if pa.types.is_timestamp(type_):
            return pa.array([_moment(v, type_) for v in values], type_)
        return pa.array([None if v is None else str(v) for v in values]).cast(type_)
    if pa.types.is_timestamp(type_):
        return pa.array([_moment(v, type_) for v in values], type_)
    return pa.array(values, type_)


def _moment(value: Any, type_: pa.DataType) -> dt.datetime | None:
    if value is None:
        return None
    moment = dt.datetime.fromisoformat(value) if isinstance(value, str) else value
    if type_.tz is None:
        return moment
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


def plain(value: Any) -> Any:
    """A value in the one form in which values are compared: stamps are in UTC."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, dt.datetime):
        utc = value.astimezone(dt.UTC) if value.tzinfo else value
        return utc.replace(tzinfo=None).isoformat(sep=" ")
    return value


def same(a: Any, b: Any) -> bool:
    """Equal, floats up to rounding."""
    if isinstance(a, float) and isinstance(b, float):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return bool(a == b)

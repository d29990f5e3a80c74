"""What flows between operators: pages, punctuations and prods.

A page is an Arrow record batch. A punctuation promises that no later tuple matches it.
A prod has the same shape and promises nothing: it says for what results are wanted now.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.intervals import EVERYTHING, Bound, IntervalSet
from slackwater.core.time import TimeDomain

Page: TypeAlias = pa.RecordBatch


@dataclass(frozen=True)
class Predicate:
    """A condition on one attribute: any value, one value, up to a value, or a range.

    ``low`` is inclusive. ``high`` is exclusive unless ``closed``.
    """

    low: Any = None
    high: Any = None
    closed: bool = False

    @staticmethod
    def equals(value: Any) -> Predicate:
        return Predicate(value, value, closed=True)

    @staticmethod
    def at_most(value: Any) -> Predicate:
        return Predicate(None, value, closed=True)

    @staticmethod
    def below(value: Any) -> Predicate:
        return Predicate(None, value)

    @staticmethod
    def between(low: Any, high: Any) -> Predicate:
        return Predicate(low, high)

    @property
    def is_any(self) -> bool:
        return self.low is None and self.high is None

    def interval(self, domain: TimeDomain) -> IntervalSet:
        """The ticks that this predicate on the WATTR matches."""
        if self.is_any:
            return EVERYTHING
        low: Bound = -np.inf if self.low is None else domain.bound(self.low)
        high: Bound = np.inf if self.high is None else domain.bound(self.high)
        if self.closed:
            high = domain.after(high)
        return IntervalSet.of((low, high))

    def matches(self, values: pa.Array) -> npt.NDArray[np.bool_]:
        """Which values of a group column match; null matches only ``any``."""
        result = np.ones(len(values), dtype=bool)
        if self.low is not None:
            result &= _compare(pc.greater_equal, values, self.low)
        if self.high is not None:
            upper = pc.less_equal if self.closed else pc.less
            result &= _compare(upper, values, self.high)
        return result

    def to_json(self) -> list[Any]:
        return [self.low, self.high, self.closed]

    @staticmethod
    def from_json(parts: list[Any]) -> Predicate:
        return Predicate(*parts)


def _compare(function: Any, values: pa.Array, bound: Any) -> npt.NDArray[np.bool_]:
    compared = function(values, typed_scalar(bound, values.type))
    return np.asarray(compared.fill_null(False))


def typed_scalar(value: Any, type_: pa.DataType) -> pa.Scalar:
    """A value as written in a predicate, in the column's own type; text is parsed."""
    if isinstance(value, str) and not pa.types.is_string(type_):
        return pa.scalar(value).cast(type_)
    return pa.scalar(value, type_)


ANY = Predicate()


@dataclass(frozen=True)
class Punctuation:
    """No later tuple matches: ``time`` in ticks of the WATTR, ``groups`` by group column."""

    time: IntervalSet
    groups: Mapping[str, Predicate] = field(default_factory=dict)

    @staticmethod
    def heartbeat(tick: Bound) -> Punctuation:
        """No later tuple is below a tick."""
        return Punctuation(IntervalSet.of((-np.inf, tick)))


@dataclass(frozen=True)
class Prod:
    """Results are wanted now for what matches; ``id`` and ``asked_at`` come back with them."""

    time: IntervalSet
    groups: Mapping[str, Predicate] = field(default_factory=dict)
    id: str = ""
    asked_at: str = ""


Element: TypeAlias = Page | Punctuation | Prod

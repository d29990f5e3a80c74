"""Every aggregate by the name that a query uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from slackwater.core.aggregates.base import Aggregate
from slackwater.core.aggregates.counts import Count
from slackwater.core.aggregates.extremes import (
    ArgMax,
    ArgMin,
    First,
    FirstPresent,
    Last,
    LastPresent,
    Max,
    Min,
)
from slackwater.core.aggregates.moments import Stddev, StddevPop, Variance, VariancePop
from slackwater.core.aggregates.sums import Avg, Sum


class AggregateError(ValueError):
    """An aggregate that cannot be had, and why."""


_CLASSES: tuple[type[Aggregate], ...] = (
    Count, Sum, Avg, Min, Max, Variance, VariancePop, Stddev, StddevPop,
    First, Last, FirstPresent, LastPresent, ArgMin, ArgMax,
)  # fmt: skip

AGGREGATES: Mapping[str, type[Aggregate]] = MappingProxyType(
    {cls.function: cls for cls in _CLASSES}
)


def make(function: str, inputs: Sequence[pa.DataType], time: pa.DataType) -> Aggregate:
    """The aggregate for a function over inputs; ``time`` is the type that ticks have."""
    cls = AGGREGATES.get(function)
    if cls is None:
        raise AggregateError(f"there is no aggregate {function}; known: {', '.join(AGGREGATES)}")
    expected = (0, 1) if cls is Count else (cls.arity,)
    if len(inputs) not in expected:
        wanted = "1 argument" if cls.arity == 1 else f"{cls.arity} arguments"
        raise AggregateError(f"{function} takes {wanted}, not {len(inputs)}")
    problem = cls.check(inputs)
    if problem:
        raise AggregateError(problem)
    return cls((*inputs, time) if cls.uses_time else tuple(inputs))

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
from slackwater.core.aggregates.holistic import Median, OverDistinct, Percentile
from slackwater.core.aggregates.moments import Stddev, StddevPop, Variance, VariancePop
from slackwater.core.aggregates.sketches import ApproxCountDistinct, ApproxPercentile
from slackwater.core.aggregates.sums import Avg, Sum


class AggregateError(ValueError):
    """An aggregate that cannot be had, and why."""


_CLASSES: tuple[type[Aggregate], ...] = (
    Count, Sum, Avg, Min, Max, Variance, VariancePop, Stddev, StddevPop,
    First, Last, FirstPresent, LastPresent, ArgMin, ArgMax,
    Median, Percentile, ApproxCountDistinct, ApproxPercentile,
)  # fmt: skip

AGGREGATES: Mapping[str, type[Aggregate]] = MappingProxyType(
    {cls.function: cls for cls in _CLASSES}
)


def make(
    function: str, inputs: Sequence[pa.DataType], time: pa.DataType,
    constants: Sequence[float] = (), distinct: bool = False,
) -> Aggregate:  # fmt: skip
    """The aggregate for a function over inputs; ``time`` is the type that ticks have."""
    cls = AGGREGATES.get(function)
    if cls is None:
        raise AggregateError(f"there is no aggregate {function}; known: {', '.join(AGGREGATES)}")
    problem = (
        _arity_problem(cls, inputs)
        or _constants_problem(cls, constants)
        or cls.check(inputs)
        or cls.check_constants(constants)
    )
    if problem:
        raise AggregateError(problem)
    given = dict(zip(cls.parameters, constants, strict=False))
    made = cls((*inputs, time) if cls.uses_time else tuple(inputs), **given)
    return _over_distinct(made) if distinct else made


def _over_distinct(inner: Aggregate) -> Aggregate:
    if len(inner.inputs) != 1 or inner.uses_time:
        raise AggregateError(f"{inner.function}(DISTINCT …) needs one plain expression")
    return OverDistinct(inner.inputs, inner)


def _arity_problem(cls: type[Aggregate], inputs: Sequence[pa.DataType]) -> str | None:
    expected = (0, 1) if cls is Count else (cls.arity,)
    if len(inputs) in expected:
        return None
    wanted = "1 argument" if cls.arity == 1 else f"{cls.arity} arguments"
    return f"{cls.function} takes {wanted}, not {len(inputs)}"


def _constants_problem(cls: type[Aggregate], constants: Sequence[float]) -> str | None:
    if cls.constants_needed <= len(constants) <= len(cls.parameters):
        return None
    wanted = ", ".join(cls.parameters) or "nothing"
    return f"{cls.function} takes after its argument: {wanted}"

"""A window clause against a stream: which column is the time, how long things are in ticks."""

from __future__ import annotations

import difflib
from fractions import Fraction

import pyarrow as pa

from slackwater.core.disorder.control import Estimator, Fixed
from slackwater.core.intervals import Bound
from slackwater.core.time import TimeDomain
from slackwater.core.windows.arithmetic import WindowSpec
from slackwater.cql.types import type_name
from slackwater.cql.windows import Quantity, WindowClause
from slackwater.errors import QueryError

_LONGEST = 2**62
"""In ticks: what is longer does not fit beside a time in 64 bits."""
_TIME_NAMES = ("ts", "timestamp", "time", "event_time")


class WindowResolver:
    """Gives a clause its meaning for one stream, or says what is wrong with it."""

    def __init__(self, query: str, clause: WindowClause) -> None:
        self.query, self.clause = query, clause

    def error(self, message: str, offset: int, hint: str = "") -> QueryError:
        return QueryError(message, self.query, offset, hint)

    def wattr(self, stream: str, schema: pa.Schema) -> str:
        """The column that WATTR names; without it the only timestamp, or a usual name."""
        names = {name.lower(): name for name in schema.names}
        given = self.clause.wattr
        if given is not None:
            name = given.text.strip("`").replace("``", "`")
            if name.lower() in names:
                return names[name.lower()]
            near = difflib.get_close_matches(name.lower(), names, 1)
            hint = f"did you mean {names[near[0]]!r}? " if near else ""
            hint += f"columns: {', '.join(schema.names)}"
            raise self.error(f"unknown column {name!r}", given.start, hint)
        stamps = [f.name for f in schema if pa.types.is_timestamp(f.type)]
        named = [names[n] for n in _TIME_NAMES if n in names]
        for candidates in (stamps, [] if stamps else named):
            if len(candidates) == 1:
                return candidates[0]
        choices = ", ".join(stamps or schema.names)
        raise self.error(
            f"which column of {stream} is the time?",
            self.clause.offset,
            f"say WATTR and one of: {choices}",
        )

    def domain(self, field: pa.Field) -> TimeDomain:
        if TimeDomain.supports(field.type):
            return TimeDomain(field.type)
        offset = self.clause.wattr.start if self.clause.wattr else self.clause.offset
        raise self.error(
            f"WATTR {field.name} is a {type_name(field.type)}, not a timestamp or a number",
            offset,
            "convert it before: df.withColumn(…, to_timestamp(…))",
        )

    def spec(self, domain: TimeDomain) -> WindowSpec:
        range_, slide = self.clause.range, self.clause.slide
        if range_ is None:
            raise self.error(
                "the window clause says no RANGE", self.clause.offset, "RANGE 60 seconds"
            )
        if slide is None:
            raise self.error(
                "a window without SLIDE slides on every tuple, which is not available yet",
                range_.offset,
                f"say how often to slide: {_slide_hint(range_)}",
            )
        lengths: list[Fraction] = []
        for name, quantity in (("RANGE", range_), ("SLIDE", slide)):
            length = self._length(quantity, domain, name)
            if length <= 0:
                raise self.error(
                    f"{name} must be more than zero", quantity.offset, f"{name} 60 seconds"
                )
            lengths.append(length)
        return WindowSpec(lengths[0], lengths[1], floating=domain.is_float)

    def estimator(self, domain: TimeDomain, external: bool) -> Estimator | None:
        """How long to wait; None where heartbeats are given from outside."""
        given = self.clause.slack
        if external:
            if given is not None:
                raise self.error(
                    "heartbeats are given from outside, so SLACK has no meaning",
                    given.offset,
                    "drop one of the two",
                )
            return None
        if given is None:
            raise self.error(
                "how long shall the engine wait for late tuples?",
                self.clause.offset,
                "add SLACK 5 seconds, or give heartbeats from outside",
            )
        slack = self._length(given, domain, "SLACK")
        if slack < 0:
            raise self.error(
                "SLACK cannot be negative", given.offset, "SLACK 0 seconds waits for nothing"
            )
        return Fixed(domain.exact(slack))

    def max_future(self, domain: TimeDomain) -> Bound | None:
        given = self.clause.max_future
        if given is None:
            return None
        length = self._length(given, domain, "MAX FUTURE")
        if length <= 0:
            raise self.error("MAX FUTURE must be more than zero", given.offset, "MAX FUTURE 1 hour")
        return domain.exact(length)

    def _length(self, quantity: Quantity, domain: TimeDomain, item: str) -> Fraction:
        """A distance on the WATTR in ticks. Time units over a number count seconds."""
        if domain.is_timestamp and quantity.seconds is None:
            raise self.error(
                f"{item} over a timestamp needs a unit",
                quantity.offset,
                f"{item} {quantity.number} seconds",
            )
        amount = quantity.number if quantity.seconds is None else quantity.seconds
        ticks = amount * domain.per_unit
        if ticks.denominator != 1 and not domain.is_float:
            raise self.error(
                f"{item} is finer than the WATTR, a {type_name(domain.type)}",
                quantity.offset,
                "use a whole number of its smallest step",
            )
        if abs(ticks) > _LONGEST:
            raise self.error(f"{item} is too long to be counted", quantity.offset, "shorten it")
        return ticks


def _slide_hint(range_: Quantity) -> str:
    unit = f" {range_.unit}s" if range_.unit else ""
    return f"SLIDE {range_.number}{unit}"

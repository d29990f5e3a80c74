"""A window clause against a stream: which column is the time, how long things are in ticks."""

from __future__ import annotations

import difflib
from fractions import Fraction

import pyarrow as pa

from slackwater.core.disorder.registry import DEFAULT, ESTIMATORS, STEERED, EstimatorPlan
from slackwater.core.intervals import Bound
from slackwater.core.time import TimeDomain
from slackwater.core.windows.arithmetic import WindowSpec
from slackwater.cql.types import type_name
from slackwater.cql.windows import Quantity, Token, WindowClause
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
        if self.clause.wattr is not None:
            return self._column(self.clause.wattr, schema)
        names = {name.lower(): name for name in schema.names}
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

    def _column(self, given: Token, schema: pa.Schema) -> str:
        names = {name.lower(): name for name in schema.names}
        name = given.text.strip("`").replace("``", "`")
        if name.lower() in names:
            return names[name.lower()]
        near = difflib.get_close_matches(name.lower(), names, 1)
        hint = f"did you mean {names[near[0]]!r}? " if near else ""
        hint += f"columns: {', '.join(schema.names)}"
        raise self.error(f"unknown column {name!r}", given.start, hint)

    def domain(self, field: pa.Field) -> TimeDomain:
        if TimeDomain.supports(field.type):
            return TimeDomain(field.type)
        offset = self.clause.wattr.start if self.clause.wattr else self.clause.offset
        raise self.error(
            f"WATTR {field.name} is a {type_name(field.type)}, not a timestamp or a number",
            offset,
            "convert it before: df.withColumn(…, to_timestamp(…))",
        )

    @property
    def slides_on_every_tuple(self) -> bool:
        """Whether there is a result for each tuple: no SLIDE, or a window counted in tuples."""
        range_ = self.clause.range
        return range_ is not None and (self.clause.slide is None or range_.counted)

    def raw_range(self, domain: TimeDomain) -> Bound:
        """The length of a window that slides on every tuple, in ticks or in tuples."""
        range_, slide = self._range(), self.clause.slide
        if not range_.counted:
            return domain.exact(self._positive(range_, domain, "RANGE"))
        if slide is not None:
            raise self.error(
                "a window counted in tuples slides on every tuple", slide.offset, "leave SLIDE out"
            )
        if range_.number.denominator != 1 or range_.number < 1:
            raise self.error("RANGE counts whole tuples", range_.offset, "RANGE 100 tuples")
        return int(range_.number)

    def spec(self, domain: TimeDomain) -> WindowSpec:
        range_, slide = self._range(), self.clause.slide
        assert slide is not None
        return WindowSpec(
            self._positive(range_, domain, "RANGE"),
            self._positive(slide, domain, "SLIDE"),
            floating=domain.is_float,
        )

    def _range(self) -> Quantity:
        if self.clause.range is None:
            raise self.error(
                "the window clause says no RANGE", self.clause.offset, "RANGE 60 seconds"
            )
        return self.clause.range

    def _positive(self, quantity: Quantity, domain: TimeDomain, item: str) -> Fraction:
        length = self._length(quantity, domain, item)
        if length <= 0:
            raise self.error(
                f"{item} must be more than zero", quantity.offset, f"{item} 60 seconds"
            )
        return length

    def estimator(self, domain: TimeDomain, external: bool) -> EstimatorPlan | None:
        """How long to wait; None where heartbeats are given from outside."""
        given = {
            "SLACK": self.clause.slack, "DRATIO": self.clause.dratio,
            "ESTIMATOR": self.clause.estimator,
        }  # fmt: skip
        present = {name: item for name, item in given.items() if item is not None}
        if external:
            for name, item in present.items():
                raise self.error(
                    f"heartbeats are given from outside, so {name} has no meaning",
                    _place(item), "drop one of the two",
                )  # fmt: skip
            return None
        if not present:
            raise self.error(
                "how long shall the engine wait for late tuples?",
                self.clause.offset,
                "say how many may be lost, DRATIO 1%; or wait a fixed time, SLACK 5 seconds; "
                "or give heartbeats from outside",
            )
        return self._fixed(domain) if self.clause.slack else self._adaptive(domain)

    def _fixed(self, domain: TimeDomain) -> EstimatorPlan:
        given, named = self.clause.slack, self.clause.estimator
        assert given is not None
        for item in (self.clause.dratio, named if named and named.text != "fixed" else None):
            if item is not None:
                raise self.error(
                    "SLACK fixes the wait, so nothing is left to estimate", _place(item),
                    "keep either SLACK, or DRATIO and ESTIMATOR",
                )  # fmt: skip
        slack = self._length(given, domain, "SLACK")
        if slack < 0:
            raise self.error(
                "SLACK cannot be negative", given.offset, "SLACK 0 seconds waits for nothing"
            )
        return EstimatorPlan.fixed(domain.exact(slack))

    def _adaptive(self, domain: TimeDomain) -> EstimatorPlan:
        named, share = self.clause.estimator, self.clause.dratio
        name = DEFAULT if named is None else named.text
        offset = self.clause.offset if named is None else named.start
        if name not in ESTIMATORS:
            near = difflib.get_close_matches(name, ESTIMATORS, 1)
            hint = f"did you mean {near[0]}? " if near else ""
            raise self.error(
                f"there is no estimator {name!r}", offset, f"{hint}known: {', '.join(ESTIMATORS)}"
            )
        if name == "fixed":
            raise self.error("a fixed slack needs its length", offset, "SLACK 5 seconds")
        if name in STEERED and share is None:
            raise self.error(
                f"{name} needs to know how many tuples may be lost", offset, "add DRATIO 1%"
            )
        if name not in STEERED and share is not None:
            raise self.error(
                f"DRATIO has no effect on {name}", share.offset,
                f"drop it, or take one of {', '.join(STEERED)}",
            )  # fmt: skip
        if ESTIMATORS[name].needs_arrival and self.clause.arrival is None:
            raise self.error(
                f"{name} needs to know when tuples arrived", offset,
                "add ARRIVAL and the column that says it",
            )  # fmt: skip
        if name == "p95" and not domain.is_timestamp:
            raise self.error("p95 has bounds in seconds", offset, "use it over a timestamp")
        drop_share = 0.0 if share is None else float(share.number)
        return EstimatorPlan(name, drop_share, per_second=float(domain.per_unit))

    def arrival(self, schema: pa.Schema, domain: TimeDomain) -> str | None:
        """The column that says when a tuple arrived, on the same scale as the WATTR."""
        given = self.clause.arrival
        if given is None:
            return None
        name = self._column(given, schema)
        found = TimeDomain(schema.field(name).type)
        same = TimeDomain.supports(found.type) and found.is_timestamp == domain.is_timestamp
        if not same or found.per_unit != domain.per_unit or found.is_float != domain.is_float:
            raise self.error(
                f"ARRIVAL {name} is a {type_name(found.type)}, and the WATTR a "
                f"{type_name(domain.type)}", given.start, "both need the same kind of type",
            )  # fmt: skip
        return name

    def revise(self, domain: TimeDomain) -> Bound:
        """How long a final window may still be revised."""
        given = self.clause.revise
        if given is None:
            return 0
        return domain.exact(self._positive(given, domain, "REVISE WITHIN"))

    def max_future(self, domain: TimeDomain) -> Bound | None:
        given = self.clause.max_future
        if given is None:
            return None
        return domain.exact(self._positive(given, domain, "MAX FUTURE"))

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


def _place(item: Quantity | Token) -> int:
    return item.start if isinstance(item, Token) else item.offset

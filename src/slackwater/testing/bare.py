"""Transcript steps on the bare operator: no host, no controller, no envelopes."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from slackwater.core.contract import Context
from slackwater.core.elements import Element, Predicate, Prod, Punctuation
from slackwater.core.intervals import INFINITY
from slackwater.core.state import MemoryState
from slackwater.core.windows.aggregate import LATE, WindowAggregate
from slackwater.core.windows.operators import operator_of
from slackwater.core.windows.raw import RawWindows
from slackwater.testing.replay import planned, wattr_of
from slackwater.testing.transcript import NotOnThisHostError, Transcript


class BareSteps:
    """One window operator, opened anew over its cells at every step."""

    def __init__(self, transcript: Transcript) -> None:
        plan, self._expressions = planned(transcript)
        if len(plan.stages) != 1:
            raise NotOnThisHostError("a query over a query has two operators")
        if plan.stages[0].core.max_future is not None:
            raise NotOnThisHostError("MAX FUTURE is kept by the controller")
        estimator = plan.stages[0].core.estimator
        if estimator is not None and not estimator.is_fixed:
            raise NotOnThisHostError("estimators are run by the controller")
        if plan.stages[0].core.layout.has_arrival:
            raise NotOnThisHostError("arrival times are for the controller")
        self._stage = plan.stages[0]
        self._layout = self._stage.core.layout
        self._state = MemoryState()
        self._highest = -INFINITY
        self.schema = plan.result_schema
        self.wattr = wattr_of(plan)

    def input(self, page: pa.Table) -> pa.Table:
        operator = self._opened()
        out: list[Element] = []
        if self._stage.where and not self._layout.filtered:
            page = self._expressions.filter(page, self._stage.where)
        time, *columns = self._expressions.evaluate(page, self._stage.inputs)
        ticks, usable = self._layout.ticks(time)
        if usable.any():
            self._highest = max(self._highest, ticks[usable].max().item())
        if self._layout.filtered:
            usable = usable & columns.pop(0).fill_null(False).to_numpy(zero_copy_only=False)
        if usable.any():
            columns = [column.filter(pa.array(usable)) for column in columns]
            out += operator.process(self._layout.page_of(ticks[usable], columns))
            out += operator.settle()
        estimator = self._stage.core.estimator
        if estimator is not None and estimator.is_fixed:
            heartbeat = self._highest - estimator.slack
            if heartbeat > operator.heartbeat:
                out += operator.advance(Punctuation.heartbeat(heartbeat))
        return self._results(operator, out)

    def punctuate(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        operator = self._opened()
        interval = time.interval(self._layout.domain)
        return self._results(operator, operator.advance(Punctuation(interval, groups)))

    def prod(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        operator = self._opened()
        interval = time.interval(self._layout.domain)
        return self._results(operator, operator.prod(Prod(interval, groups)))

    def close(self) -> None:
        pass

    def _opened(self) -> WindowAggregate | RawWindows:
        operator = operator_of(self._layout)
        operator.open(self._state, Context())
        return operator

    def _results(
        self, operator: WindowAggregate | RawWindows, elements: Iterable[Element]
    ) -> pa.Table:
        rows = [e for e in elements if isinstance(e, pa.RecordBatch)]
        operator.flush()
        table = pa.Table.from_batches(rows, self._layout.result_schema)
        if self._stage.having:
            table = self._expressions.filter(table, f"kind = '{LATE}' OR ({self._stage.having})")
        columns = self._expressions.evaluate(table, [o.sql for o in self._stage.outputs])
        window, kind, tuples = (table.column(name) for name in ("window", "kind", "tuples"))
        return pa.Table.from_arrays([window, *columns, kind, tuples], schema=self.schema)

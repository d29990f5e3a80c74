"""Transcript steps on the replay host."""

from __future__ import annotations

import pyarrow as pa

from slackwater.core.elements import Predicate
from slackwater.cql.compile import compile_query
from slackwater.hosts.replay import Expressions, Replay
from slackwater.plan.stages import Plan
from slackwater.testing.transcript import Transcript


class ReplaySteps:
    """``shards`` says over how many parts the groups are dealt; results do not depend on it."""

    def __init__(self, transcript: Transcript, shards: int = 2) -> None:
        plan, expressions = planned(transcript)
        self._replay = Replay(plan, expressions, shards)
        self.schema = plan.result_schema
        self.wattr = wattr_of(plan)

    def input(self, page: pa.Table) -> pa.Table:
        return self._replay.feed(page)

    def punctuate(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        return self._replay.punctuate(time, groups)

    def prod(self, time: Predicate, groups: dict[str, Predicate]) -> pa.Table:
        return self._replay.prod(time, groups)

    def close(self) -> None:
        pass


def planned(transcript: Transcript) -> tuple[Plan, Expressions]:
    expressions = Expressions()
    plan = compile_query(
        transcript.query, transcript.streams, expressions.types, external=transcript.external
    )
    return plan, expressions


def wattr_of(plan: Plan) -> str:
    return plan.stages[0].inputs[0].strip("`")

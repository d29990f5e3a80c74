"""A plan is a chain of stages. Each is the same for every host, and says what a host must do.

A host evaluates ``inputs`` (SQL value expressions) over the stage's source, hands the
columns to an ``Ingest``, runs the ``core`` plan on each shard, and evaluates ``outputs``
over what comes out.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from slackwater.core.stage import StagePlan


@dataclass(frozen=True)
class Output:
    """A result column: its name, and its expression over keys ``k0…`` and aggregates ``a0…``."""

    name: str
    sql: str
    type: pa.DataType


@dataclass(frozen=True)
class QueryStage:
    """One window query of the plan."""

    source_schema: pa.Schema
    inputs: tuple[str, ...]
    """SQL over the source's columns: WATTR, then WHERE if ``filtered``, keys, arguments."""
    input_types: tuple[pa.DataType, ...]
    where: str | None
    core: StagePlan
    outputs: tuple[Output, ...]
    having: str | None
    labels: tuple[str, ...]
    """Each aggregate as the user wrote it, for people to read."""

    @property
    def result_schema(self) -> pa.Schema:
        """What a user sees, and what a later stage reads."""
        core = self.core.layout.result_schema
        fields = [pa.field(output.name, output.type) for output in self.outputs]
        return pa.schema([core.field("window"), *fields, core.field("kind"), core.field("tuples")])


@dataclass(frozen=True)
class Plan:
    """A whole query over one stream."""

    query: str
    stream: str
    stages: tuple[QueryStage, ...]

    @property
    def result_schema(self) -> pa.Schema:
        return self.stages[-1].result_schema

    @property
    def has_external_heartbeats(self) -> bool:
        return self.stages[0].core.estimator is None

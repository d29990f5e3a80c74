"""Every transcript holds on every host: the bare operator, replay, and Spark."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from slackwater.cql import compile_query
from slackwater.hosts.spark import SparkSteps, spark_typer
from slackwater.testing import (
    BareSteps,
    NotOnThisHostError,
    ReplaySteps,
    Steps,
    Transcript,
    check,
    load,
)

TRANSCRIPTS = [t for path in sorted(Path(__file__).parent.glob("*.yaml")) for t in load(path)]
each = pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda t: t.name)


@each
def test_replay(transcript: Transcript) -> None:
    """It holds in process, whatever the number of shards."""
    for shards in (1, 3):
        check(transcript, partial(ReplaySteps, shards=shards))


@each
def test_bare(transcript: Transcript) -> None:
    """It holds on the operator alone, where one operator is all it needs."""
    try:
        check(transcript, BareSteps)
    except NotOnThisHostError as reason:
        pytest.skip(str(reason))


@pytest.mark.spark
@each
def test_spark(transcript: Transcript, spark: SparkSession) -> None:
    """It holds on Spark, a micro-batch a step."""

    def start(given: Transcript) -> Steps:
        plan = compile_query(given.query, given.streams, spark_typer(spark), given.external)
        return SparkSteps(spark, plan)

    check(transcript, start)

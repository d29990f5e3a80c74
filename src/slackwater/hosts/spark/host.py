"""From a plan and a streaming DataFrame to the DataFrame of results."""

from __future__ import annotations

import hashlib
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.stage import COUNT_NAMES
from slackwater.core.windows.aggregate import LATE
from slackwater.errors import JobError
from slackwater.hosts.spark.control import control_frame
from slackwater.hosts.spark.front import ENVELOPE, Front, LaterFront
from slackwater.hosts.spark.processor import BOUNDS, OUTPUT, ShardProcessor, Unpack
from slackwater.hosts.spark.types import spark_schema_of
from slackwater.plan.stages import Plan, QueryStage

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
ARROW_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
ARROW_BYTES_DEFAULT = "67108864b"
UNLIMITED = str(2**31 - 1)
ARROW_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
ARROW_ROWS_DEFAULT, ARROW_ROWS_WANTED = "10000", "131072"
PARTITIONS = "spark.sql.shuffle.partitions"
OBSERVATION = "slackwater_"
FIRST_STAGE = "_stage1"


def run(
    plan: Plan, frame: DataFrame, control: Path | None = None, shards: int | None = None
) -> DataFrame:
    """The streaming DataFrame of a plan's results."""
    if not frame.isStreaming:
        raise JobError(
            f"stream {plan.stream} is not a streaming DataFrame: read it with spark.readStream, "
            "or run the query over tables with slackwater.replay"
        )
    spark = session_of(frame)
    prepare(spark)
    shard_keys = _shard_keys(spark, shards)
    for number, stage in enumerate(plan.stages):
        last = number == len(plan.stages) - 1
        envelopes = _envelopes(plan, number, frame, shard_keys)
        if number == 0 and control is not None:
            envelopes = envelopes.unionByName(
                control_frame(spark, control, plan.stream, shard_keys)
            )
        frame = _results(plan, number, envelopes, shard_keys, last)
        frame = _outputs(stage, frame, last)
    return frame


def session_of(frame: DataFrame) -> SparkSession:
    return frame.sparkSession


def prepare(spark: SparkSession) -> None:
    """Settings without which a query fails or crawls, unless the user has set them already.

    Below ``UNLIMITED`` bytes per Arrow batch, Spark measures the batch anew for every row,
    which makes the crossing to Python three times as slow; batches stay bounded by rows.
    A batch of the default 10,000 rows costs as much again for the batch as for its rows.
    """
    if "RocksDB" not in (spark.conf.get(PROVIDER) or ""):
        spark.conf.set(PROVIDER, ROCKSDB)
        spark.conf.set(CHANGELOG, "true")
    if spark.conf.get(ARROW_BYTES) == ARROW_BYTES_DEFAULT:
        spark.conf.set(ARROW_BYTES, UNLIMITED)
    if spark.conf.get(ARROW_ROWS) == ARROW_ROWS_DEFAULT:
        spark.conf.set(ARROW_ROWS, ARROW_ROWS_WANTED)


def _shard_keys(spark: SparkSession, shards: int | None) -> tuple[int, ...]:
    """Integers that Spark's hash partitioner sends to as many different partitions."""
    partitions = int(spark.conf.get(PARTITIONS) or 200)
    wanted = partitions if shards is None else shards
    if wanted < 1:
        raise JobError(f"shards={wanted}: there must be at least one")
    if wanted > partitions:
        raise JobError(
            f"shards={wanted} is more than {PARTITIONS} = {partitions}: raise that setting first"
        )
    candidates = spark.range(40 * partitions + 100).selectExpr(
        "int(id) AS key", f"pmod(hash(int(id)), {partitions}) AS partition"
    )
    firsts = candidates.groupBy("partition").agg(F.min("key").alias("key")).collect()
    return tuple(sorted(row["key"] for row in firsts)[:wanted])


def _envelopes(plan: Plan, number: int, frame: DataFrame, shard_keys: tuple[int, ...]) -> DataFrame:
    stage = plan.stages[number]
    layout = stage.core.layout
    schema = spark_schema_of(ENVELOPE)
    if number == 0:
        if stage.where and not layout.filtered:
            frame = frame.where(stage.where)
        front = Front(layout, stage.input_types, shard_keys, stage.core.watch)
        return frame.selectExpr(*_named(stage)).mapInArrow(front, schema)
    carried = ["window", "kind", "tuples", "element_kind", "element"]
    later = LaterFront(layout, stage.input_types, shard_keys)
    return frame.selectExpr(*_named(stage), *carried).mapInArrow(later, schema)


def _named(stage: QueryStage) -> list[str]:
    return [f"{sql} AS c{i}" for i, sql in enumerate(stage.inputs)]


def _results(
    plan: Plan, number: int, envelopes: DataFrame, shard_keys: tuple[int, ...], last: bool
) -> DataFrame:
    stage = plan.stages[number]
    layout = stage.core.layout
    shards = envelopes.groupBy("shard").transformWithState(
        statefulProcessor=ShardProcessor(stage.core, shard_keys, last),
        outputStructType=OUTPUT,
        outputMode="Append",
        timeMode="None",
    )
    metrics = [F.sum(name).alias(name) for name in COUNT_NAMES]
    metrics += [F.max(name).alias(name) for name in BOUNDS]
    observed = shards.observe(observation_name(plan, number), *metrics)
    unpack = Unpack(layout.result_schema, last)
    pages = observed.select("page", "element_kind", "element")
    return pages.mapInArrow(unpack, spark_schema_of(unpack.out_schema))


def observation_name(plan: Plan, number: int) -> str:
    """The name under which a stage's account stands in Spark's query progress."""
    digest = hashlib.sha256(plan.query.encode()).hexdigest()[:8]
    return f"{OBSERVATION}{digest}_stage{number + 1}"


def _outputs(stage: QueryStage, frame: DataFrame, last: bool) -> DataFrame:
    """HAVING and the expressions over aggregates, in the JVM."""
    carried = [] if last else ["element_kind", "element"]
    if stage.having:
        kept = [f"({stage.having})", f"kind = '{LATE}'", *(["element IS NOT NULL"] * (not last))]
        frame = frame.where(reduce(lambda a, b: f"{a} OR {b}", kept))
    columns = [f"{output.sql} AS `{output.name.replace('`', '``')}`" for output in stage.outputs]
    return frame.selectExpr("window", *columns, "kind", "tuples", *carried)

"""The disorder source gives Spark the same stream that the generator gives in process."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from slackwater.errors import JobError
from slackwater.hosts.spark.disorder import FORMAT, PacedReader, Pacing, Slice, parse, register
from slackwater.streams import DisorderedStream

OPTIONS = {"rate": "40", "delay": "normal", "delay_mu": "1", "delay_sigma": "0.7", "seed": "5"}


def by_seq(table: pa.Table) -> pa.Table:
    return table.sort_by("seq").combine_chunks()


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_real_time_follows_the_clock_from_the_committed_offset() -> None:
    """The first call is the origin, later ones follow the clock, and the end is the end."""
    clock = Clock()
    reader = PacedReader(DisorderedStream(), Pacing(seconds=10), clock)
    committed = {"us": 4_000_000}
    assert reader.latestOffset(committed, None) == committed
    clock.now += 1.5
    assert reader.latestOffset(committed, None) == {"us": 5_500_000}
    assert reader.latestOffset({"us": 5_500_000}, None) == {"us": 5_500_000}
    clock.now += 60
    assert reader.latestOffset({"us": 5_500_000}, None) == {"us": 10_000_000}


def test_fixed_batches_need_no_clock() -> None:
    """With seconds_per_batch each call is one step further, up to the end."""
    reader = PacedReader(DisorderedStream(), Pacing(seconds=5, seconds_per_batch=2))
    offsets = [{"us": 0}]
    while (after := reader.latestOffset(offsets[-1], None)) != offsets[-1]:
        offsets.append(after)
    assert [offset["us"] for offset in offsets] == [0, 2_000_000, 4_000_000, 5_000_000]
    assert reader.partitions(offsets[0], offsets[1]) == [
        Slice(0, 2_000_000, part, 2) for part in (0, 1)
    ]
    assert reader.partitions(offsets[-1], offsets[-1]) == []


def test_available_now_needs_an_end() -> None:
    """With an end all of it is available at once; without one the trigger is refused."""
    reader = PacedReader(DisorderedStream(), Pacing(seconds=5))
    reader.prepareForTriggerAvailableNow()
    assert reader.latestOffset({"us": 0}, None) == {"us": 5_000_000}
    with pytest.raises(JobError, match="option seconds = '0' is refused with availableNow"):
        PacedReader(DisorderedStream(), Pacing()).prepareForTriggerAvailableNow()


def test_pacing_options_are_checked_with_the_rest() -> None:
    """Options of stream and pacing come in one mapping; a refusal lists both kinds."""
    stream, pacing = parse(OPTIONS | {"partitions": "3", "seconds": "7.5"})
    assert stream == DisorderedStream.from_options(OPTIONS)
    assert pacing == Pacing(partitions=3, seconds=7.5)
    with pytest.raises(JobError, match="option partitions = '0' is refused"):
        parse({"partitions": "0"})
    with pytest.raises(JobError, match="did you mean 'seconds'.*seconds_per_batch.*seed"):
        parse({"second": "1"})


@pytest.mark.spark
def test_batch_read_is_the_generated_stream(spark: SparkSession) -> None:
    """A batch read gives every tuple once, whatever the partitions; bad options are refused."""
    register(spark)
    reader = spark.read.format(FORMAT).options(**OPTIONS, key_type="string", partitions="3")
    expected = DisorderedStream.from_options(OPTIONS | {"key_type": "string"})
    read = by_seq(reader.option("seconds", "6").load().toArrow())
    assert read.to_pylist() == by_seq(expected.between(0, 6_000_000)).to_pylist()
    with pytest.raises(AnalysisException, match="did you mean 'rate'"):
        spark.read.format(FORMAT).option("rat", "5").load()


@pytest.mark.spark
def test_restart_goes_on_without_gap_or_repetition(spark: SparkSession, tmp_path: Path) -> None:
    """Two runs of availableNow over one checkpoint give the stream once, in steps."""
    register(spark)
    sink, checkpoint = str(tmp_path / "sink"), str(tmp_path / "checkpoint")
    for seconds, batches in (("3", [0, 1]), ("6", [2, 3])):
        reader = spark.readStream.format(FORMAT).options(**OPTIONS)
        frame = reader.options(seconds=seconds, seconds_per_batch="2").load()
        writer = frame.writeStream.format("parquet").option("checkpointLocation", checkpoint)
        query = writer.trigger(availableNow=True).start(sink)
        query.awaitTermination()
        steps = [p["batchId"] for p in query.recentProgress if p["numInputRows"]]
        assert steps == batches
    expected = DisorderedStream.from_options(OPTIONS).between(0, 6_000_000)
    assert by_seq(spark.read.parquet(sink).toArrow()).to_pylist() == by_seq(expected).to_pylist()

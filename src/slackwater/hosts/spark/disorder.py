"""``slackwater-disorder``: the generated stream as a Spark source, streaming or batch.

The offset is a time of arrival since the start of the stream. A real-time source lets it
follow the clock from where the query starts or goes on; ``seconds_per_batch`` moves it by
a fixed step per micro-batch instead. Every interval of offsets can be made again exactly,
so a restart repeats nothing and leaves nothing out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from slackwater.errors import JobError
from slackwater.hosts.spark.types import spark_schema_of
from slackwater.streams import DisorderedStream
from slackwater.streams.generator import micros
from slackwater.streams.options import (
    Number,
    check_options,
    option,
    option_names,
    read_options,
    reject_unknown,
)

FORMAT = "slackwater-disorder"
BATCH_ROWS = 32_768

_DURATION = Number(least=1e-6, most=1e9, off=True)


@dataclass(frozen=True)
class Pacing:
    """How a query reads the stream: by how many tasks, how far, and how fast."""

    partitions: int = option(2, Number(least=1, most=10_000, whole=True))
    seconds: float = option(0.0, _DURATION)
    seconds_per_batch: float = option(0.0, _DURATION)

    def __post_init__(self) -> None:
        check_options(self)


def register(spark: SparkSession) -> None:
    """Makes ``spark.readStream.format("slackwater-disorder")`` known to a session."""
    spark.dataSource.register(DisorderSource)


def parse(options: Mapping[str, str]) -> tuple[DisorderedStream, Pacing]:
    """The stream and its pacing from the options of a reader."""
    paces = option_names(Pacing)
    reject_unknown(options, (*paces, *option_names(DisorderedStream)))
    pacing = {name: text for name, text in options.items() if name in paces}
    rest = {name: text for name, text in options.items() if name not in paces}
    return DisorderedStream.from_options(rest), Pacing(**read_options(Pacing, pacing))


class DisorderSource(DataSource):
    """``spark.readStream.format("slackwater-disorder").option("rate", 5000)…``"""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return spark_schema_of(parse(self.options)[0].schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return PacedReader(*parse(self.options))

    def reader(self, schema: StructType) -> DataSourceReader:
        return _WholeReader(*parse(self.options))


@dataclass
class Slice(InputPartition):
    """One task's part of an interval of arrival."""

    first_us: int
    end_us: int
    part: int
    parts: int


def _slices(first_us: int, end_us: int, parts: int) -> list[InputPartition]:
    return [Slice(first_us, end_us, part, parts) for part in range(parts)]


def _read(stream: DisorderedStream, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    assert isinstance(partition, Slice)
    table = stream.between(
        partition.first_us, partition.end_us, part=partition.part, parts=partition.parts
    )
    yield from table.to_batches(max_chunksize=BATCH_ROWS)


class PacedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """The driver moves the offset; each task makes its own part of the interval."""

    def __init__(
        self,
        stream: DisorderedStream,
        pacing: Pacing,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream, self._pacing, self._clock = stream, pacing, clock
        self._anchor: tuple[float, int] | None = None  # a clock reading and its offset
        self._at_once = False

    def initialOffset(self) -> dict[str, int]:
        return {"us": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        """All up to ``seconds`` counts as available; an endless stream never is."""
        if not self._pacing.seconds:
            raise JobError("option seconds = '0' is refused with availableNow: set the end")
        self._at_once = True

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        reached = self._reached(start["us"])
        if self._pacing.seconds:
            reached = min(reached, micros(self._pacing.seconds))
        return {"us": max(start["us"], reached)}

    def _reached(self, start_us: int) -> int:
        if self._pacing.seconds_per_batch:
            return start_us + micros(self._pacing.seconds_per_batch)
        if self._at_once:
            return micros(self._pacing.seconds)
        now = self._clock()
        if self._anchor is None:
            self._anchor = (now, start_us)
        since, offset_us = self._anchor
        return offset_us + micros(now - since)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start["us"] >= end["us"]:
            return []
        return _slices(start["us"], end["us"], self._pacing.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._stream, partition)


class _WholeReader(DataSourceReader):
    """All that arrives in the first ``seconds``, as a table."""

    def __init__(self, stream: DisorderedStream, pacing: Pacing) -> None:
        self._stream, self._pacing = stream, pacing

    def partitions(self) -> Sequence[InputPartition]:
        if not self._pacing.seconds:
            raise JobError("option seconds = '0' is refused in a batch read: set the end")
        return _slices(0, micros(self._pacing.seconds), self._pacing.partitions)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return _read(self._stream, partition)

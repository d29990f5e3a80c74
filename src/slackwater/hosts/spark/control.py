"""The control source: punctuations and prods from a directory of small JSON files.

Each file is one element, named by its sequence number, written whole and then renamed
into place. The offset is the next number, so a restart reads on exactly where it was.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from slackwater.control import read_entries, sequence_end
from slackwater.hosts.spark.front import ENVELOPE
from slackwater.hosts.spark.types import spark_schema_of

FORMAT = "slackwater-control"


def control_frame(
    spark: SparkSession, directory: Path, stream: str, shard_keys: Sequence[int]
) -> DataFrame:
    """The elements of a control directory for one stream, as envelopes for every shard."""
    spark.dataSource.register(ControlSource)
    reader = spark.readStream.format(FORMAT).option("path", str(directory))
    frame = reader.option("stream", stream).load()
    keys = ", ".join(map(str, shard_keys))
    columns = [f"explode(array({keys})) AS shard", "kind", "payload"]
    return frame.selectExpr(*columns).to(spark_schema_of(ENVELOPE))


class ControlSource(DataSource):
    """``spark.readStream.format("slackwater-control").option("path", …)``"""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        return StructType(spark_schema_of(ENVELOPE).fields[1:])

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return _ControlReader(self.options)


class _Entries(InputPartition):
    def __init__(self, entries: list[tuple[int, bytes]]) -> None:
        self.entries = entries


class _ControlReader(DataSourceStreamReader):
    """The driver reads the files; what they hold travels to the task in its partition."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self._directory, self._stream = Path(options["path"]), options["stream"]

    def initialOffset(self) -> dict[str, int]:
        return {"next": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:
        return {"next": sequence_end(self._directory, start["next"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        if start["next"] >= end["next"]:
            return []
        found = read_entries(self._directory, start["next"], end["next"])
        return [
            _Entries([(kind, payload) for stream, kind, payload in found if stream == self._stream])
        ]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, bytes]]:
        assert isinstance(partition, _Entries)
        yield from partition.entries

"""Streams for the Spark tests: one file a micro-batch, in a known order."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from slackwater.hosts.spark.types import spark_schema_of


def write_files(folder: Path, pages: Iterable[pa.Table], first: int = 0) -> Path:
    """One file a page. Spark reads files by age, and files of one moment in any order."""
    folder.mkdir(exist_ok=True)
    for number, page in enumerate(pages, first):
        draft = folder / f".{number:06d}"
        pq.write_table(page, draft)
        os.utime(draft, (10**9 + number, 10**9 + number))
        draft.rename(folder / f"{number:06d}.parquet")
    return folder


def read_files(spark: SparkSession, folder: Path, schema: pa.Schema) -> DataFrame:
    """The files as a stream, one a micro-batch."""
    reader = spark.readStream.schema(spark_schema_of(schema))
    return reader.option("maxFilesPerTrigger", 1).parquet(str(folder))


def start(frame: DataFrame, checkpoint: Path | None = None) -> StreamingQuery:
    """A query, its results in a table in memory under the query's name."""
    writer = frame.writeStream.format("memory").outputMode("append")
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", str(checkpoint))
    return writer.queryName(f"test_{uuid4().hex}").start()


def finished(spark: SparkSession, running: StreamingQuery) -> pa.Table:
    """The results once all input has been used; the query is stopped."""
    running.processAllAvailable()
    running.stop()
    table = spark.table(running.name).toArrow()
    spark.sql(f"DROP VIEW {running.name}")
    return table


def rows_of(table: pa.Table, *kinds: str) -> list[dict[str, Any]]:
    """The rows of some kinds, in one order, whatever the order they came in."""
    rows = [row for row in table.to_pylist() if not kinds or row["kind"] in kinds]
    return sorted(rows, key=repr)


def in_pages(table: pa.Table, pages: int) -> Sequence[pa.Table]:
    """A table cut into pages of much the same size."""
    edges = [table.num_rows * page // pages for page in range(pages + 1)]
    return [table.slice(a, b - a) for a, b in pairwise(edges)]

"""The same query over Spark Connect: its finals are those of replay.

A process has one kind of session, so the Connect client gets a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_files import write_files

import slackwater as sw
from slackwater.streams import DisorderedStream

pytestmark = pytest.mark.spark
QUERY = """
SELECT key, COUNT(*) AS n, MAX(value) AS m
FROM S [RANGE 4 seconds, SLIDE 2 seconds, WATTR ts, DRATIO 5%] WHERE value > 0.1 GROUP BY key
"""
CLIENT = """
import sys
from pyspark.sql import SparkSession
import slackwater as sw

query, pages, out = sys.argv[1:]
spark = (
    SparkSession.builder.remote("local[2]")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.sql.session.timeZone", "UTC")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
assert "connect" in type(spark).__module__
schema = "ts timestamp, arrival timestamp, key bigint, value double, seq bigint"
reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
writer = sw.sql(query, {"S": reader.parquet(pages)}).writeStream.format("parquet")
writer = writer.option("checkpointLocation", f"{out}-checkpoint").option("path", out)
running = writer.trigger(availableNow=True).start()
running.awaitTermination()
account = sw.report(running)
print("input", account.input)
"""


def test_a_query_runs_over_spark_connect(tmp_path: Path) -> None:
    """Finals and late rows equal those of replay over the same pages."""
    stream = DisorderedStream(rate=200, keys=3, delay="exponential", delay_mean=0.3, seed=6)
    pages = list(stream.pages(seconds=20, page_seconds=1.0))
    folder, out = write_files(tmp_path / "in", pages), tmp_path / "out"
    command = [sys.executable, "-c", CLIENT, QUERY, str(folder), str(out)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240,
        env=os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert f"input {sum(page.num_rows for page in pages)}" in done.stdout
    found = pa.concat_tables(pq.read_table(path) for path in sorted(out.glob("*.parquet")))
    replayed = sw.replay(QUERY, {"S": pages})
    assert _rows(found) == _rows(replayed)


def _rows(table: pa.Table) -> list[str]:
    ends = table.column("window").combine_chunks().field("end").cast(pa.timestamp("us", "UTC"))
    return sorted(map(str, table.set_column(0, "end", ends.cast(pa.int64())).to_pylist()))

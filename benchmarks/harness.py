"""What the benchmarks share: a quiet Spark, generated files, streaming runs, and comparison."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

HDFS = "org.apache.spark.sql.execution.streaming.state.HDFSBackedStateStoreProvider"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
CHANGELOG = "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled"
SCHEMA = "ts timestamp, key bigint, v double"
EPOCH = int(dt.datetime(2026, 1, 1, tzinfo=dt.UTC).timestamp() * 1_000_000)


def spark_session(cores: int = 2) -> SparkSession:
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local[{cores}]").appName("benchmarks")
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "6g",
        "spark.sql.streaming.numRecentProgressUpdates": "1000",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


@dataclass(frozen=True)
class Input:
    """Files of a disordered stream; each becomes one micro-batch."""

    files: int
    rows_per_file: int
    seconds_per_file: float
    keys: int
    max_delay_s: float = 4.0
    seed: int = 1


def write_input(folder: Path, given: Input) -> None:
    """Millisecond stamps in steady progress, each tuple delayed by up to ``max_delay_s``."""
    random = np.random.default_rng(given.seed)
    total = given.files * given.rows_per_file
    stamps = np.sort(random.uniform(0, given.files * given.seconds_per_file, total))
    arrivals = stamps + np.minimum(
        random.exponential(given.max_delay_s / 8, total), given.max_delay_s
    )
    micros = (stamps * 1_000).astype(np.int64)[np.argsort(arrivals, kind="stable")] * 1_000 + EPOCH
    # quarters add up exactly in any order, so that sums can be compared to the last digit
    values = random.integers(0, 4_000, total) / 4.0
    keys = random.integers(0, given.keys, total)
    for number in range(given.files):
        part = slice(number * given.rows_per_file, (number + 1) * given.rows_per_file)
        table = pa.table(
            {
                "ts": pa.array(micros[part]).cast(pa.timestamp("us", "UTC")),
                "key": keys[part],
                "v": values[part],
            }
        )
        path = folder / f"{number:05d}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + number, 1_700_000_000 + number))


def read_input(spark: SparkSession, folder: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))


@dataclass(frozen=True)
class Run:
    """One streaming run: seconds and rows of each batch after the first, which warms up."""

    seconds: list[float]
    rows: int
    progress: list[Any]

    @property
    def rows_per_s(self) -> float:
        return self.rows / sum(self.seconds)


def run_query(frame: DataFrame, settings: dict[str, str], sink: Path | None = None) -> Run:
    """Run a streaming frame over all its input, to nowhere or to parquet files."""
    spark = frame.sparkSession
    for name, value in settings.items():
        spark.conf.set(name, value)
    with scratch() as checkpoint:
        writer = frame.writeStream.outputMode("append").option(
            "checkpointLocation", str(checkpoint)
        )
        writer = (
            writer.format("parquet").option("path", str(sink)) if sink else writer.format("noop")
        )
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        progress = list(query.recentProgress)
    timed = [p for p in progress[1:] if p["numInputRows"] > 0 or p is progress[-1]]
    seconds = [p["durationMs"]["triggerExecution"] / 1_000 for p in timed]
    return Run(seconds, sum(p["numInputRows"] for p in timed), progress)


def alternated(runs: dict[str, Callable[[], Run]], rounds: int) -> dict[str, list[Run]]:
    """Each run as often as there are rounds, in turning order."""
    names = list(runs)
    found: dict[str, list[Run]] = {name: [] for name in names}
    for round_ in range(rounds):
        for name in names if round_ % 2 == 0 else names[::-1]:
            started = time.perf_counter()
            found[name].append(runs[name]())
            took = time.perf_counter() - started
            rate = found[name][-1].rows_per_s
            print(
                f"  round {round_ + 1} {name}: {rate:,.0f} rows/s ({took:.1f} s)", file=sys.stderr
            )
    return found


def median_rate(runs: list[Run]) -> float:
    return statistics.median(run.rows_per_s for run in runs)


def spread(runs: list[Run]) -> float:
    """The distance of the slowest and the fastest run, as a share of the median."""
    rates = [run.rows_per_s for run in runs]
    return (max(rates) - min(rates)) / statistics.median(rates)


def peak_memory_mb() -> dict[str, int]:
    """The most that the JVM and the Python workers have held since they started, on Linux."""
    peaks = {"jvm": 0, "workers": 0}
    for status in Path("/proc").glob("[0-9]*/status"):
        with suppress(OSError):
            facts = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
            command = (status.parent / "cmdline").read_text()
            kind = "jvm" if "java" in facts["Name"] else "workers"
            if kind == "jvm" or "pyspark" in command:
                peaks[kind] += int(facts["VmHWM"].split()[0]) // 1_024
    return peaks


@contextmanager
def scratch() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="slackwater-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)

"""Window aggregation against Spark's own ``window()``, and its cost by number of groups."""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import slackwater as sw
from harness import (
    CHANGELOG,
    HDFS,
    PROVIDER,
    ROCKSDB,
    Input,
    alternated,
    median_rate,
    peak_memory_mb,
    read_input,
    run_query,
    scratch,
    spark_session,
    spread,
    write_input,
)

OURS = {PROVIDER: ROCKSDB, CHANGELOG: "true"}
TUMBLING_ROWS = 3_000_000
SPARKS = {PROVIDER: HDFS}
"""Spark's default state store, in memory: the faster one for its own aggregation."""


def sliding(arguments: argparse.Namespace) -> dict[str, Any]:
    rows = int(4_000_000 * arguments.scale)
    return _compare(arguments, Input(5, rows, 12.0, 1_000), "60 seconds", "1 second")


def tumbling(arguments: argparse.Namespace) -> dict[str, Any]:
    rows = int(TUMBLING_ROWS * arguments.scale)
    return _compare(arguments, Input(8, rows, 12.0, 1_000), "10 seconds", "10 seconds")


def _ours(spark: SparkSession, folder: Path, range_: str, slide: str) -> DataFrame:
    query = f"""SELECT key, SUM(v) AS s, COUNT(v) AS n, MAX(v) AS m
                FROM S [RANGE {range_}, SLIDE {slide}, WATTR ts, SLACK 5 seconds] GROUP BY key"""
    return sw.sql(query, {"S": read_input(spark, folder)})


def tumbling_query(spark: SparkSession, folder: Path) -> DataFrame:
    """Our side of the tumbling benchmark."""
    return _ours(spark, folder, "10 seconds", "10 seconds")


def _sparks(spark: SparkSession, folder: Path, range_: str, slide: str) -> DataFrame:
    frame = read_input(spark, folder).withWatermark("ts", "5 seconds")
    grouped = frame.groupBy(F.window("ts", range_, slide), "key")
    return grouped.agg(F.sum("v").alias("s"), F.count("v").alias("n"), F.max("v").alias("m"))


def _compare(
    arguments: argparse.Namespace, given: Input, range_: str, slide: str
) -> dict[str, Any]:
    spark = spark_session()
    with scratch() as folder:
        write_input(folder, given)
        compared = _check(spark, folder, range_, slide)
        runs = {
            "ours": lambda: run_query(_ours(spark, folder, range_, slide), OURS),
            "spark": lambda: run_query(_sparks(spark, folder, range_, slide), SPARKS),
        }
        found = alternated(runs, arguments.rounds)
    ours, sparks = median_rate(found["ours"]), median_rate(found["spark"])
    return {
        "ratio": round(ours / sparks, 2),
        "ours_rows_per_s": round(ours),
        "spark_rows_per_s": round(sparks),
        "checked": True,
        "rows_per_batch": given.rows_per_file,
        "compared_windows": compared,
        "spread": {name: round(spread(each), 2) for name, each in found.items()},
        "rounds": arguments.rounds,
    }


def _check(spark: SparkSession, folder: Path, range_: str, slide: str) -> int:
    """Both sides' finals, row for row. Spark emits a batch later, so it may close fewer windows."""
    with scratch() as out:
        run_query(_ours(spark, folder, range_, slide), OURS, out / "ours")
        run_query(_sparks(spark, folder, range_, slide), SPARKS, out / "spark")
        ours, sparks = _rows(out / "ours", ours=True), _rows(out / "spark", ours=False)
    last = max(row["end"] for row in sparks.to_pylist()[-1:])
    ours = ours.filter(pa.compute.less_equal(ours.column("end"), last))
    if not ours.equals(sparks):
        raise SystemExit("the results differ from Spark's: nothing was timed")
    return ours.num_rows


def _rows(folder: Path, ours: bool) -> pa.Table:
    table = pq.read_table(folder)
    if ours:
        table = table.filter(pa.compute.equal(table.column("kind"), "final"))
    window = table.column("window").combine_chunks()
    columns = {"end": window.field("end"), **{n: table.column(n) for n in ("key", "s", "n", "m")}}
    return pa.table(columns).sort_by([("end", "ascending"), ("key", "ascending")])


def groups(arguments: argparse.Namespace) -> dict[str, Any]:
    """Cost per batch by number of keys; state and memory beside it."""
    rows = []
    for keys in (1_000, 10_000, 100_000, 1_000_000):
        rows.append(_cost_of(keys, int(max(2 * keys, 400_000) * arguments.scale)))
    smallest, largest = rows[0], rows[-1]
    growth = largest["batch_s"] / smallest["batch_s"]
    return {
        "ratio": round(growth / (largest["keys"] / smallest["keys"]), 5),
        "checked": all(row["checked"] for row in rows),
        "rows": rows,
    }


def _cost_of(keys: int, batch_rows: int) -> dict[str, Any]:
    spark = spark_session()
    given = Input(5, batch_rows, 10.0, keys)
    with scratch() as folder:
        write_input(folder, given)
        run = run_query(_ours(spark, folder, "10 seconds", "10 seconds"), OURS)
    state = [p["stateOperators"][0] for p in run.progress]
    account = run.progress[-1]["observedMetrics"]
    seen = next(iter(account.values()))["input"]
    return {
        "keys": keys,
        "batch_rows": batch_rows,
        "batch_s": round(statistics.median(run.seconds), 3),
        "state_bytes": max(s["customMetrics"].get("rocksdbTotalBytesWritten", 0) for s in state),
        "state_memory_bytes": max(s["memoryUsedBytes"] for s in state),
        "peak_mb": peak_memory_mb(),
        "checked": seen == given.files * batch_rows,
    }

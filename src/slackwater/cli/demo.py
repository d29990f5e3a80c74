"""``slackwater demo``: the built-in disordered stream, a sliding window, results as they come."""

from __future__ import annotations

import sys
import time

import pyarrow as pa
from pyspark.sql import DataFrame

from slackwater.api import report, sql
from slackwater.cli.session import spark_session
from slackwater.cli.view import print_rows
from slackwater.hosts.spark import register_sources

QUERY = """
SELECT key, COUNT(*) AS n, AVG(value) AS mean, MAX(value) AS high
FROM S [RANGE 10 seconds, SLIDE 2 seconds, WATTR ts, DRATIO 1%]
GROUP BY key
"""


def demo(seconds: int, rate: int) -> int:
    """Run for a while on this machine, then say what became of every tuple."""
    print(f"Slackwater demo: about {seconds} s on this machine. Starting Spark …")
    print(QUERY)
    counted = {"final": 0, "late": 0}

    def show(frame: DataFrame, batch: int) -> None:
        table = frame.toArrow()
        for kind in counted:
            counted[kind] += int(pa.compute.sum(pa.compute.equal(table["kind"], kind)).as_py() or 0)
        if table.num_rows:
            print(f"batch {batch}: {table.num_rows} result rows")
            print_rows(table.sort_by("key"), sys.stdout, most=4)

    options = {
        "rate": str(rate), "keys": "5", "key_type": "string", "delay": "exponential",
        "delay_mean": "0.5", "max_delay": "8", "seed": "7",
    }  # fmt: skip
    with spark_session() as spark:
        register_sources(spark)
        stream = spark.readStream.format("slackwater-disorder").options(**options).load()
        writer = sql(QUERY, {"S": stream}).writeStream.foreachBatch(show)
        query = writer.trigger(processingTime="2 seconds").start()
        started = time.monotonic()
        query.awaitTermination(seconds)
        query.stop()
        took = time.monotonic() - started
        account = report(query)
    if account is None:
        print("no batch was finished; try --seconds 60")
        return 1
    print(f"\nsummary after {took:.0f} s")
    print(f"  tuples in       {account.input:>10}   ({account.input / took:,.0f} per second)")
    print(f"  rejected        {account.rejected:>10}   no usable time")
    print(f"  late            {account.late:>10}   after all their windows were final; "
          f"{counted['late']} 'late' rows")  # fmt: skip
    print(f"  in windows      {account.in_windows:>10}   {counted['final']} 'final' rows so far")
    print(f"  heartbeat       {account.heartbeat}   (largest ts seen: {account.progress})")
    print(f"  slack           {account.slack}, found by the engine for DRATIO 1%; "
          f"{account.drop_share:.2%} came below the heartbeat")  # fmt: skip
    return 0

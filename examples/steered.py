"""Heartbeats and punctuations from outside: a program that knows more than a slack does.

A gateway knows that sensor 7 has sent all it had up to 10, long before the others have.
It says so, and the results of sensor 7 need not wait.
"""

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import slackwater as sw

QUERY = "SELECT sensor, SUM(v) AS s FROM S [RANGE 10, SLIDE 10, WATTR t] GROUP BY sensor"


def main(spark: SparkSession) -> None:
    folder = Path(tempfile.mkdtemp())
    page = pa.table({"t": [1, 4, 8], "sensor": [7, 8, 7], "v": [2, 3, 3]})
    (folder / "in").mkdir()
    pq.write_table(page, folder / "in" / "1.parquet")

    control = sw.Control(folder / "control")
    stream = spark.readStream.schema("t bigint, sensor bigint, v bigint").parquet(f"{folder}/in")
    results = sw.sql(QUERY, {"S": stream}, heartbeats=control)
    running = results.writeStream.format("memory").queryName("steered").start()

    def sums() -> list[tuple[int, int]]:
        running.processAllAvailable()
        return sorted((row["sensor"], row["s"]) for row in spark.table("steered").collect())

    running.processAllAvailable()
    control.punctuate("S", sw.Predicate.below(10), {"sensor": sw.Predicate.equals(7)})
    print("after sensor 7 was closed:", sums())
    control.heartbeat("S", 10)
    print("after the heartbeat:", sums())
    running.stop()


if __name__ == "__main__":
    main(SparkSession.builder.master("local[2]").getOrCreate())

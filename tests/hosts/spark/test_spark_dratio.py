"""DRATIO on Spark: the bound holds, the drops are the late rows, and replay says the same."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from spark_files import finished, read_files, rows_of, start, write_files

import slackwater as sw
from slackwater.streams import DisorderedStream

pytestmark = pytest.mark.spark
STANDING = {"delay_mu": 0.5, "delay_sigma": 0.3}
CHANGING = {"delay_changes_every": 3.0, "delay_mu_high": 0.6, "delay_sigma_high": 0.5}
QUERY = "SELECT key, COUNT(*) AS n FROM S [{window}, WATTR ts, DRATIO 2%] GROUP BY key"


@pytest.mark.parametrize("delays", [STANDING, CHANGING], ids=["standing", "changing"])
@pytest.mark.parametrize("window", ["RANGE 1 s, SLIDE 1 s", "RANGE 500 ms"])
def test_no_more_is_lost_than_dratio_permits(
    delays: dict[str, float], window: str, tmp_path: Path, spark: SparkSession
) -> None:
    """At most 2% in late rows, the same rows as in replay, every tuple in one row or another."""
    stream = DisorderedStream(rate=300, keys=3, delay="normal", seed=4, **delays)
    pages = list(stream.pages(seconds=24, page_seconds=0.6))
    query = QUERY.format(window=window)
    frame = read_files(spark, write_files(tmp_path / "in", pages), stream.schema)
    running = start(sw.sql(query, {"S": frame}))
    found = finished(spark, running)
    account = sw.report(running)
    assert account is not None
    late = sum(row["tuples"] for row in rows_of(found, "late"))
    assert late == account.late <= 0.02 * account.input
    assert account.below <= account.allowed and account.slack.endswith(" s")
    replayed = sw.replay(query, {"S": pages})
    assert rows_of(_comparable(found)) == rows_of(_comparable(replayed))


def _comparable(table: pa.Table) -> pa.Table:
    """Times in one zone, whatever the host called it."""
    window = table.column("window").combine_chunks()
    ends = window.field("end").cast(pa.int64())
    return table.set_column(0, "end", ends)

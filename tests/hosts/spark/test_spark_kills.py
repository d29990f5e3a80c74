"""A killed driver loses nothing: the finals are those of an undisturbed run.

A job runs in a process of its own, which is killed with all its children at random moments
and started again from its checkpoint, until its input is used up.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from spark_files import rows_of, write_files

from slackwater.streams import DisorderedStream

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

JOB = """
query = '''
SELECT key, COUNT(*) AS n, SUM(value) AS s, MAX(value) AS m
FROM S [RANGE 1500 ms, SLIDE 500 ms, WATTR ts, DRATIO 4%] GROUP BY key
'''
checkpoint = "{folder}/checkpoint"

[streams.S]
format = "parquet"
schema = "ts timestamp, key bigint, value double, seq bigint"
options = {{path = "{pages}", maxFilesPerTrigger = 1}}

[sink]
format = "parquet"
options = {{path = "{folder}/out"}}

[spark]
"spark.sql.shuffle.partitions" = 2
"""
KILLS = 10


def test_finals_survive_ten_kills(tmp_path: Path, spark: SparkSession) -> None:
    """Killed at random moments: the same heartbeats, so the same rows, late ones included."""
    stream = DisorderedStream(rate=200, keys=4, delay="exponential", delay_mean=0.5, seed=3)
    pages = write_files(tmp_path / "pages", stream.pages(seconds=24))
    calm, killed = (_job(tmp_path / name, pages) for name in ("calm", "killed"))
    assert _run(calm).wait() == 0
    chance = random.Random(1)
    for _ in range(KILLS):
        _kill_after(_run(killed), chance.uniform(0.0, 0.8), killed.parent / "checkpoint")
    assert _run(killed).wait() == 0
    expected, found = (_results(spark, job) for job in (calm, killed))
    assert {row["kind"] for row in expected} == {"final", "late"}
    assert found == expected


def _job(folder: Path, pages: Path) -> Path:
    folder.mkdir()
    path = folder / "job.toml"
    path.write_text(JOB.format(folder=folder, pages=pages))
    return path


def _run(job: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "slackwater.cli.main", "run", str(job), "--once"]
    return subprocess.Popen(
        command, start_new_session=True, env=os.environ | {"PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _kill_after(process: subprocess.Popen[bytes], seconds: float, checkpoint: Path) -> None:
    """Kill it some time after it went on with its batches; a finished one may be gone."""
    before = _latest_batch(checkpoint)
    while process.poll() is None and _latest_batch(checkpoint) == before:
        time.sleep(0.02)
    time.sleep(seconds)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _latest_batch(checkpoint: Path) -> int:
    offsets = checkpoint / "offsets"
    return max((int(p.name) for p in offsets.glob("*") if p.name.isdecimal()), default=-1)


def _results(spark: SparkSession, job: Path) -> list[dict[str, Any]]:
    return rows_of(spark.read.parquet(str(job.parent / "out")).toArrow())

"""A local Spark for the command line, its chatter in a log file."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from slackwater.errors import JobError


@contextmanager
def spark_session(settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
    """A session with settings that suit window queries; yours go before them."""
    require_java()
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 2
    chosen = {
        "spark.master": "local[*]",
        "spark.app.name": "slackwater",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(cores),
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
        **(settings or {}),
    }
    log = Path(tempfile.mkdtemp(prefix="slackwater-")) / "spark.log"
    with _quiet(log):
        builder = SparkSession.builder
        for name, value in chosen.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
        spark.sparkContext.setLogLevel("ERROR")
        try:
            yield spark
        except BaseException as error:
            if not isinstance(error, KeyboardInterrupt):
                print(f"Spark's log: {log}", file=sys.stderr)
            raise
        else:
            shutil.rmtree(log.parent, ignore_errors=True)
        finally:
            spark.stop()


def require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (home and (Path(home) / "bin" / "java").exists()):
        return
    raise JobError("Spark needs Java 17 or newer: apt install openjdk-17-jre-headless")


@contextmanager
def _quiet(log: Path) -> Iterator[None]:
    """Let the JVM and its workers write to a file, and only us to the terminal."""
    out, err = os.dup(1), os.dup(2)
    streams = sys.stdout, sys.stderr
    with log.open("w") as file, os.fdopen(out, "w") as ours, os.fdopen(err, "w") as our_errors:
        sys.stdout.flush()
        sys.stderr.flush()
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        sys.stdout, sys.stderr = ours, our_errors
        ours.reconfigure(line_buffering=True)
        try:
            yield
        finally:
            ours.flush()
            our_errors.flush()
            sys.stdout, sys.stderr = streams
            os.dup2(out, 1)
            os.dup2(err, 2)

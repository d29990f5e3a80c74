"""``slackwater doctor``: what this machine has, and whether a small query runs on it."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from slackwater.errors import SlackwaterError

PACKAGES = ("pyspark", "pyarrow", "numpy", "pandas", "protobuf", "sqlglot", "duckdb")


def doctor() -> int:
    """Print each finding and a verdict; 0 if a query runs."""
    sound = True
    for name, check in (("python", _python), ("java", _java), ("packages", _packages),
                        ("one batch", _smoke)):  # fmt: skip
        ok, text = _attempt(check)
        sound &= ok
        print(f"{'ok ' if ok else 'NO '} {name:<10} {text}")
        if not sound:
            break
    print(
        "Slackwater can run here." if sound else "Slackwater cannot run here: see the line above."
    )
    return 0 if sound else 1


def _attempt(check: Callable[[], tuple[bool, str]]) -> tuple[bool, str]:
    try:
        return check()
    except (SlackwaterError, OSError, RuntimeError) as error:
        return False, str(error)


def _python() -> tuple[bool, str]:
    version = sys.version.split()[0]
    good = sys.version_info >= (3, 11)
    return good, f"{version} at {sys.executable}" + ("" if good else "; 3.11 or newer is needed")


def _java() -> tuple[bool, str]:
    path = shutil.which("java")
    if path is None:
        return False, "not found: apt install openjdk-17-jre-headless"
    shown = subprocess.run([path, "-version"], capture_output=True, text=True, check=False).stderr
    match = re.search(r'version "(\d+)', shown)
    major = int(match.group(1)) if match else 0
    first = shown.splitlines()[0] if shown else "no version"
    return major >= 17, first + ("" if major >= 17 else "; Java 17 or newer is needed")


def _packages() -> tuple[bool, str]:
    found = list(_versions())
    missing = [name for name, version in found if version is None]
    text = ", ".join(f"{name} {version}" for name, version in found if version)
    if missing:
        return False, f"{text}; missing: {', '.join(missing)} (pip install slackwater)"
    return True, text


def _versions() -> Iterator[tuple[str, str | None]]:
    for name in PACKAGES:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield name, None


def _smoke() -> tuple[bool, str]:
    """One batch through state, compared with the same query in process."""
    from slackwater.api import replay, sql
    from slackwater.cli.session import spark_session
    from slackwater.hosts.spark import register_sources
    from slackwater.streams import DisorderedStream

    query = "SELECT COUNT(*) AS n FROM S [RANGE 1 s, SLIDE 1 s, WATTR ts, SLACK 1 s]"
    options = {"rate": "100", "seed": "1"}
    pages = list(DisorderedStream.from_options(options).pages(5, page_seconds=5))
    expected = sorted(str(row) for row in replay(query, {"S": pages}).to_pylist())
    with spark_session() as spark, tempfile.TemporaryDirectory() as folder:
        register_sources(spark)
        source = spark.readStream.format("slackwater-disorder").options(**options)
        stream = source.option("seconds", "5").option("seconds_per_batch", "5").load()
        writer = sql(query, {"S": stream}).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(Path(folder) / "checkpoint"))
        running = (
            writer.option("path", str(Path(folder) / "out")).trigger(availableNow=True).start()
        )
        running.awaitTermination()
        rows = spark.read.parquet(str(Path(folder) / "out")).toArrow().to_pylist()
    same = sorted(str(row) for row in rows) == expected
    return same, f"{len(rows)} windows, {'as' if same else 'NOT as'} in replay"

"""Job files: streams in any Spark format, a query, a sink, a checkpoint."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slackwater.errors import JobError

_KEYS = {"query", "checkpoint", "trigger", "shards", "control", "spark", "streams", "sink"}
_STREAM_KEYS = {"format", "schema", "options", "select"}
_SINK_KEYS = {"format", "options"}


@dataclass(frozen=True)
class StreamJob:
    """Where a stream comes from; ``select`` holds SQL expressions that shape its columns."""

    format: str
    schema: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    select: tuple[str, ...] = ()

    def frame(self, spark: SparkSession) -> DataFrame:
        reader = spark.readStream.format(self.format).options(**self.options)
        loaded = (reader.schema(self.schema) if self.schema else reader).load()
        return loaded.selectExpr(*self.select) if self.select else loaded


@dataclass(frozen=True)
class Job:
    """A job as its file says."""

    query: str
    streams: Mapping[str, StreamJob]
    sink_format: str = "print"
    sink_options: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str | None = None
    trigger: str = "0 seconds"
    shards: int | None = None
    control: str | None = None
    spark: Mapping[str, str] = field(default_factory=dict)


def load_job(path: str | Path) -> Job:
    """The job in a TOML file."""
    path = Path(path)
    try:
        found = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise JobError(f"there is no file {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise JobError(f"{path} is not TOML: {error}") from None
    _known(path, "", found, _KEYS)
    for key in ("query", "streams"):
        if key not in found:
            raise JobError(f"{path}: {key!r} is missing")
    sink = found.get("sink", {})
    _known(path, "sink.", sink, _SINK_KEYS)
    return Job(
        query=found["query"],
        streams={name: _stream(path, name, s) for name, s in found["streams"].items()},
        sink_format=sink.get("format", "print"),
        sink_options=_texts(sink.get("options", {})),
        checkpoint=found.get("checkpoint"),
        trigger=found.get("trigger", "0 seconds"),
        shards=found.get("shards"),
        control=found.get("control"),
        spark=_texts(found.get("spark", {})),
    )


def _stream(path: Path, name: str, found: Mapping[str, Any]) -> StreamJob:
    _known(path, f"streams.{name}.", found, _STREAM_KEYS)
    if "format" not in found:
        raise JobError(f'{path}: streams.{name} needs a format, for example "parquet"')
    return StreamJob(
        found["format"], found.get("schema"), _texts(found.get("options", {})),
        tuple(found.get("select", ())),
    )  # fmt: skip


def _known(path: Path, prefix: str, found: Mapping[str, Any], keys: set[str]) -> None:
    unknown = set(found) - keys
    if unknown:
        known = ", ".join(sorted(keys))
        raise JobError(f"{path}: unknown key {prefix}{min(unknown)!s}; known here: {known}")


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    def text(value: Any) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {name: text(value) for name, value in options.items()}

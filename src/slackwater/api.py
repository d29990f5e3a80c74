"""The public face: a query and its streams in, results out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from slackwater.builder import Query
from slackwater.control import Control
from slackwater.cql import arrow_schema, compile_query
from slackwater.errors import JobError
from slackwater.hosts.replay import Expressions, Replay
from slackwater.plan.explain import explain as explain_plan
from slackwater.plan.stages import Plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from slackwater.observe.report import Report

Pages: TypeAlias = pa.Table | pa.RecordBatch | Iterable[pa.Table | pa.RecordBatch]


def sql(
    query: str | Query,
    streams: Mapping[str, DataFrame],
    *,
    heartbeats: Control | None = None,
    control: Control | None = None,
    shards: int | None = None,
) -> DataFrame:
    """Results of a query over streaming DataFrames, as a streaming DataFrame.

    Write it anywhere with ``writeStream`` in append mode. ``heartbeats`` names the control
    directory from which heartbeats come, in place of SLACK or DRATIO. ``control`` names one
    that gives ticks, prods and punctuations beside the query's own heartbeat. ``shards``
    fixes how many parts the state has; without it there is one for each of
    ``spark.sql.shuffle.partitions``.
    """
    from slackwater.hosts.spark import run

    if heartbeats is not None and control is not None:
        raise JobError("give either heartbeats or control: one directory does for both")
    plan = _spark_plan(query, streams, heartbeats is not None)
    steering = heartbeats or control
    directory = None if steering is None else steering.directory
    return run(plan, streams[plan.stream], directory, shards)


def replay(
    query: str | Query,
    streams: Mapping[str, Pages],
    *,
    drain: bool = False,
    shards: int = 1,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> pa.Table:
    """The same query in process: each page is one micro-batch; all results in one table.

    ``drain`` closes every window at the end, as if the input had ended. ``functions`` are
    Python functions that the query calls, annotated with their types.
    """
    pages = {name: _pages(name, given) for name, given in streams.items()}
    schemas = {name: found[0].schema for name, found in pages.items()}
    running = replayer(query, schemas, shards=shards, functions=functions)
    tables = [running.feed(page) for page in pages[running.plan.stream]]
    if drain:
        tables.append(running.drain())
    return pa.concat_tables(tables)


def replayer(
    query: str | Query,
    streams: Mapping[str, pa.Schema | str],
    *,
    external_heartbeats: bool = False,
    shards: int = 1,
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> Replay:
    """A query in process, fed step by step. A schema is Arrow's, or ``"t bigint, k string"``."""
    expressions = Expressions(functions)
    plan = compile_query(
        str(query), _schemas(streams), expressions.types, external=external_heartbeats
    )
    return Replay(plan, expressions, shards)


def explain(
    query: str | Query,
    streams: Mapping[str, DataFrame | pa.Schema | str],
    *,
    external_heartbeats: bool = False,
) -> str:
    """The plan in words: pane width, state, what runs where. Starts nothing."""
    frames = {name: given for name, given in streams.items() if hasattr(given, "isStreaming")}
    if frames:
        return explain_plan(_spark_plan(query, frames, external_heartbeats))
    typer = Expressions().types
    plan = compile_query(str(query), _schemas(streams), typer, external=external_heartbeats)
    return explain_plan(plan)


def report(running: StreamingQuery) -> Report | None:
    """What became of every tuple of a running query, as of its last finished batch."""
    from slackwater.hosts.spark import report_of_query

    return report_of_query(running)


def _spark_plan(query: str | Query, streams: Mapping[str, Any], external: bool) -> Plan:
    from slackwater.hosts.spark import arrow_schema_of, session_of, spark_typer

    if not streams:
        raise JobError("no streams given: pass streams={'S': a streaming DataFrame}")
    for name, given in streams.items():
        if not hasattr(given, "isStreaming"):
            raise JobError(
                f"stream {name} is a {type(given).__name__}, not a Spark DataFrame; "
                "tables run with slackwater.replay"
            )
    schemas = {name: arrow_schema_of(frame) for name, frame in streams.items()}
    typer = spark_typer(session_of(next(iter(streams.values()))))
    return compile_query(str(query), schemas, typer, external=external)


def _schemas(streams: Mapping[str, Any]) -> dict[str, pa.Schema]:
    return {name: _schema(name, given) for name, given in streams.items()}


def _schema(name: str, given: Any) -> pa.Schema:
    if isinstance(given, str):
        return arrow_schema(given)
    if isinstance(given, pa.Schema):
        return given
    raise JobError(
        f"the columns of stream {name} are an Arrow schema, or text such as 't bigint, k string'; "
        f"not a {type(given).__name__}"
    )


def _pages(name: str, given: Pages) -> list[pa.Table | pa.RecordBatch]:
    single = isinstance(given, (pa.Table, pa.RecordBatch)) or not isinstance(given, Iterable)
    pages: list[Any] = [given] if single else list(given)
    if not pages:
        raise JobError(f"stream {name} has no pages: give at least one, even if it is empty")
    for page in pages:
        if not isinstance(page, (pa.Table, pa.RecordBatch)):
            raise JobError(
                f"stream {name} holds a {type(page).__name__}: replay takes pyarrow Tables or "
                "RecordBatches, one or several; pa.Table.from_pandas and pa.Table.from_pylist "
                "make one"
            )
    return pages

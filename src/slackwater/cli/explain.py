"""``slackwater explain``: the plan of a job or of a query, without starting anything."""

from __future__ import annotations

from collections.abc import Sequence

from slackwater.api import explain
from slackwater.cli.job import load_job
from slackwater.cli.session import spark_session
from slackwater.errors import JobError


def explain_command(path: str | None, query: str | None, streams: Sequence[str]) -> int:
    if (path is None) == (query is None):
        raise JobError("give a job file, or --query with --stream")
    print(_explain_query(query, streams) if query is not None else _explain_job(str(path)))
    return 0


def _explain_query(query: str, streams: Sequence[str]) -> str:
    columns = {}
    for stream in streams:
        name, equals, ddl = stream.partition("=")
        if not equals:
            raise JobError(f'--stream {stream!r}: write it as --stream "S=ts timestamp, v double"')
        columns[name] = ddl
    return explain(query, columns)


def _explain_job(path: str) -> str:
    from slackwater.hosts.spark import register_sources

    job = load_job(path)
    with spark_session(job.spark) as spark:
        register_sources(spark)
        frames = {name: stream.frame(spark) for name, stream in job.streams.items()}
        return explain(job.query, frames, external_heartbeats=job.control is not None)

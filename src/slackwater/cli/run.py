"""``slackwater run``: a job from its file to its sink, with a live view of how it goes."""

from __future__ import annotations

import sys
from typing import TextIO

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from slackwater.api import sql
from slackwater.cli.job import Job, load_job
from slackwater.cli.session import spark_session
from slackwater.cli.view import print_rows, progress_line
from slackwater.control import Control
from slackwater.errors import JobError
from slackwater.hosts.spark import register_sources
from slackwater.hosts.spark.reports import report_of_progress

POLL_SECONDS = 1


def run_job(path: str, once: bool = False) -> int:
    """Run until the job is stopped, or until its input is used up with ``once``."""
    job = load_job(path)
    with spark_session(job.spark) as spark:
        register_sources(spark)
        results = results_of(job, spark)
        writer = _written(job, results)
        writer = writer.trigger(availableNow=True) if once else _triggered(writer, job.trigger)
        query = writer.start()
        try:
            follow(query, sys.stderr)
        except KeyboardInterrupt:
            query.stop()
    return 0


def results_of(job: Job, spark: SparkSession) -> DataFrame:
    streams = {name: stream.frame(spark) for name, stream in job.streams.items()}
    heartbeats = None if job.control is None else Control(job.control)
    return sql(job.query, streams, heartbeats=heartbeats, shards=job.shards)


def _written(job: Job, results: DataFrame) -> DataStreamWriter:
    writer = results.writeStream.outputMode("append")
    if job.checkpoint:
        writer = writer.option("checkpointLocation", job.checkpoint)
    if job.sink_format == "print":
        return writer.foreachBatch(lambda frame, _: print_rows(frame.toArrow(), sys.stdout))
    return writer.format(job.sink_format).options(**job.sink_options)


def _triggered(writer: DataStreamWriter, trigger: str) -> DataStreamWriter:
    try:
        return writer.trigger(processingTime=trigger)
    except Exception as error:
        raise JobError(f"trigger {trigger!r}: write it as '2 seconds'") from error


def follow(query: StreamingQuery, out: TextIO) -> None:
    """Print a line for each finished batch until the query ends; its failure is raised."""
    shown = -1
    while True:
        ended = query.awaitTermination(POLL_SECONDS)
        for progress in query.recentProgress:
            if progress["batchId"] > shown and progress["numInputRows"]:
                shown = progress["batchId"]
                report = report_of_progress(progress)
                if report is not None:
                    out.write(progress_line(progress, report) + "\n")
        if ended:
            return

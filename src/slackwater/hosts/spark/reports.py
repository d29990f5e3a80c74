"""Spark's query progress, read as a report."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.query import StreamingQuery

from slackwater.hosts.spark.host import FIRST_STAGE, OBSERVATION
from slackwater.observe.report import Report, report_from


def report_of_query(running: StreamingQuery) -> Report | None:
    """What became of every tuple, as of the query's last finished batch; None before the first."""
    for progress in reversed(running.recentProgress):
        report = report_of_progress(progress)
        if report is not None:
            return report
    return None


def report_of_progress(progress: Any) -> Report | None:
    """The account of the query's first stage, the one that reads the stream."""
    for name, observed in progress["observedMetrics"].items():
        if name.startswith(OBSERVATION) and name.endswith(FIRST_STAGE):
            return report_from(_by_name(observed))
    return None


def _by_name(observed: Row) -> dict[str, Any]:
    """Metrics by name; over Spark Connect they come as values beside their schema."""
    found: dict[str, Any] = observed.asDict()
    if set(found) != {"values", "schema"}:
        return found
    names = (field["name"] for field in found["schema"]["fields"])
    return dict(zip(names, found["values"], strict=True))

"""The Spark host: the only place that imports PySpark. Public APIs only, classic or Connect."""

from slackwater.hosts.spark.disorder import register as register_sources
from slackwater.hosts.spark.host import run, session_of
from slackwater.hosts.spark.reports import report_of_query
from slackwater.hosts.spark.steps import SparkSteps
from slackwater.hosts.spark.types import arrow_schema_of, spark_typer

__all__ = [
    "SparkSteps",
    "arrow_schema_of",
    "register_sources",
    "report_of_query",
    "run",
    "session_of",
    "spark_typer",
]

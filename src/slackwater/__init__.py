"""Slackwater: continuous window queries over disordered streams, on Spark through PySpark."""

from slackwater.api import explain, replay, replayer, report, sql
from slackwater.builder import Query, stream
from slackwater.control import Control
from slackwater.core.elements import Predicate
from slackwater.errors import JobError, QueryError, SlackwaterError

__version__ = "0.1.0"

__all__ = [
    "Control",
    "JobError",
    "Predicate",
    "Query",
    "QueryError",
    "SlackwaterError",
    "explain",
    "replay",
    "replayer",
    "report",
    "sql",
    "stream",
]

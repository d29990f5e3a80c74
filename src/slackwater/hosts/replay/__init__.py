"""The replay host: a query in process, deterministic, with its state in a dictionary."""

from slackwater.hosts.replay.expressions import Expressions
from slackwater.hosts.replay.host import Replay

__all__ = ["Expressions", "Replay"]

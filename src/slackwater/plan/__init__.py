"""What runs: frozen stages, from the stream's columns to the user's result columns."""

from slackwater.plan.stages import Output, Plan, QueryStage

__all__ = ["Output", "Plan", "QueryStage"]

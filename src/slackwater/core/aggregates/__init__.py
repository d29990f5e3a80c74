"""Aggregates with their algebra: ``lift`` a page, ``merge`` partials, ``finish`` a result."""

from slackwater.core.aggregates.registry import AGGREGATES, AggregateError, make

__all__ = ["AGGREGATES", "AggregateError", "make"]

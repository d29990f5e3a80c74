"""CQL: SQL with window clauses, turned into a plan. Uses sqlglot; runs nothing."""

from slackwater.cql.compile import compile_query
from slackwater.cql.types import arrow_schema

__all__ = ["arrow_schema", "compile_query"]

"""Value expressions off Spark: Spark SQL translated by sqlglot and evaluated by DuckDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa
import sqlglot
from sqlglot.errors import SqlglotError

from slackwater.errors import JobError
from slackwater.plan.expressions import ExpressionError

_PLAIN = re.compile(r"`?(\w+)`?")


class Expressions:
    """Evaluates expressions over Arrow tables. ``functions`` are Python functions by name.

    A function's annotations say its types, as DuckDB wants them.
    """

    def __init__(self, functions: Mapping[str, Callable[..., Any]] | None = None) -> None:
        import duckdb

        self._error = duckdb.Error
        self._connection = duckdb.connect()
        self._connection.execute("SET TimeZone = 'UTC'")
        for name, function in (functions or {}).items():
            self._define(name, function)

    def types(self, schema: pa.Schema, expressions: Sequence[str]) -> list[pa.DataType]:
        """The types that the expressions have over columns of a schema."""
        empty = schema.empty_table()
        found = []
        for place, expression in enumerate(expressions):
            try:
                found.append(self.evaluate(empty, [expression])[0].type)
            except JobError as error:
                raise ExpressionError(place, str(error).partition(": ")[2]) from None
        return found

    def evaluate(self, table: pa.Table, expressions: Sequence[str]) -> list[pa.Array]:
        """One array per expression; plain columns are taken as they are."""
        computed = [sql for sql in expressions if self._column(table.schema, sql) is None]
        results = self._computed(table, computed) if computed else {}
        arrays = []
        for sql in expressions:
            name = self._column(table.schema, sql)
            arrays.append(results[sql] if name is None else one_array(table.column(name)))
        return arrays

    def filter(self, table: pa.Table, condition: str) -> pa.Table:
        """The rows for which a condition is true."""
        (mask,) = self.evaluate(table, [condition])
        return table.filter(mask.fill_null(False))

    def _define(self, name: str, function: Callable[..., Any]) -> None:
        try:
            self._connection.create_function(name, function)
        except (self._error, TypeError) as error:
            raise JobError(
                f"cannot use the function {name}: {_first_line(error)}; annotate its types, "
                f"as in: def {name}(x: int) -> int"
            ) from error

    def _column(self, schema: pa.Schema, sql: str) -> str | None:
        plain = _PLAIN.fullmatch(sql)
        return plain.group(1) if plain and plain.group(1) in schema.names else None

    def _computed(self, table: pa.Table, expressions: Sequence[str]) -> dict[str, pa.Array]:
        self._connection.register("source", table)
        try:
            items = [f"{_translated(sql)} AS c{i}" for i, sql in enumerate(expressions)]
            query = f"SELECT {', '.join(items)} FROM source"
            result = self._connection.sql(query).to_arrow_table()
        except (self._error, SqlglotError) as error:
            text = ", ".join(expressions)
            raise JobError(f"cannot evaluate {text}: {_first_line(error)}") from error
        finally:
            self._connection.unregister("source")
        arrays = (one_array(column) for column in result.columns)
        return dict(zip(expressions, arrays, strict=True))


def _translated(sql: str) -> str:
    return sqlglot.transpile(sql, read="spark", write="duckdb")[0]


def _first_line(error: BaseException) -> str:
    return str(error).split("\n")[0]


def one_array(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined

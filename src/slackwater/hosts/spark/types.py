"""Spark types and Arrow types, and what types Spark gives to expressions."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_type
from pyspark.sql.types import StructType

from slackwater.plan.expressions import ExpressionError, Typer

TIMEZONE = "UTC"


def arrow_schema_of(frame: DataFrame) -> pa.Schema:
    """The columns of a DataFrame as Arrow sees them."""
    fields = frame.schema.fields
    return pa.schema(
        [pa.field(f.name, to_arrow_type(f.dataType, timezone=TIMEZONE)) for f in fields]
    )


def spark_schema_of(schema: pa.Schema) -> StructType:
    return from_arrow_schema(schema)


def spark_typer(spark: SparkSession) -> Typer:
    """Asks Spark's analyser, so that functions registered in the session count too."""

    def types(schema: pa.Schema, expressions: Sequence[str]) -> list[pa.DataType]:
        empty = spark.createDataFrame([], spark_schema_of(schema))
        try:
            return arrow_schema_of(empty.selectExpr(*expressions)).types
        except PySparkException:
            for place, expression in enumerate(expressions):
                _check(empty, place, expression)
            raise

    return types


def _check(empty: DataFrame, place: int, expression: str) -> None:
    try:
        _ = empty.selectExpr(expression).schema
    except AnalysisException as error:
        raise ExpressionError(place, _first_sentence(error)) from None


def _first_sentence(error: AnalysisException) -> str:
    text = (error.getMessage() or str(error)).split("\n")[0]
    return text.split(" SQLSTATE")[0]

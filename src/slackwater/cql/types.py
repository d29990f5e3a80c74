"""Column types as Spark writes them (``t bigint, k string``), as Arrow types."""

from __future__ import annotations

import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from slackwater.errors import JobError

_SIMPLE = {
    "BOOLEAN": pa.bool_(),
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "TEXT": pa.string(),
    "VARCHAR": pa.string(),
    "CHAR": pa.string(),
    "BINARY": pa.binary(),
    "VARBINARY": pa.binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMPTZ": pa.timestamp("us", "UTC"),
    "TIMESTAMPLTZ": pa.timestamp("us", "UTC"),
    "TIMESTAMPNTZ": pa.timestamp("us"),
}


def arrow_schema(ddl: str) -> pa.Schema:
    """The schema in a column list.

    >>> arrow_schema("t bigint, price decimal(10,2)").types
    [DataType(int64), Decimal128Type(decimal128(10, 2))]
    """
    if not isinstance(ddl, str) or not ddl.strip():
        raise JobError(f"a stream's columns are text such as 't bigint, k string', not {ddl!r}")
    try:
        create = sqlglot.parse_one(f"CREATE TABLE t ({ddl})", dialect="spark")
        columns = create.this.expressions
    except (SqlglotError, AttributeError) as error:
        raise JobError(f"cannot read the columns {ddl!r}: write them as 'name type, …'") from error
    fields = []
    for column in columns:
        if not isinstance(column, exp.ColumnDef) or column.kind is None:
            raise JobError(f"cannot read the column {column.sql()!r} in {ddl!r}: say its type")
        try:
            fields.append(pa.field(column.name, _arrow_type(column.kind)))
        except (ValueError, TypeError, LookupError) as error:
            type_ = column.kind.sql(dialect="spark")
            raise JobError(f"cannot read the type {type_} of {column.name!r}: {error}") from error
    return pa.schema(fields)


def _arrow_type(type_: exp.DataType) -> pa.DataType:
    name = type_.this.name
    if name == "DECIMAL":
        digits = [int(e.name) for e in type_.expressions] or [10]
        return pa.decimal128(*digits) if len(digits) > 1 else pa.decimal128(digits[0], 0)
    if name in ("ARRAY", "LIST"):
        return pa.list_(_arrow_type(type_.expressions[0]))
    if name == "STRUCT":
        return pa.struct([(e.name, _arrow_type(e.args["kind"])) for e in type_.expressions])
    if name == "MAP":
        return pa.map_(*(_arrow_type(e) for e in type_.expressions))
    if name not in _SIMPLE:
        raise JobError(f"unknown column type {type_.sql(dialect='spark')!r}")
    return _SIMPLE[name]


def type_name(type_: pa.DataType) -> str:
    """A type as Spark users know it.

    >>> type_name(pa.int64()), type_name(pa.decimal128(10, 2))
    ('bigint', 'decimal(10,2)')
    """
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_):
        return "timestamp" if type_.tz else "timestamp_ntz"
    names = {known: name.lower() for name, known in reversed(_SIMPLE.items())}
    return {"text": "string"}.get(names.get(type_, ""), names.get(type_, str(type_)))

"""The stateful side on Spark: one shard, one micro-batch, one call of ``Stage.batch``."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from slackwater.core.contract import Context
from slackwater.core.envelope import Envelope, element_payload, page_payload, read_page
from slackwater.core.stage import COUNT_NAMES, BatchOutput, Stage, StagePlan
from slackwater.hosts.spark.worker import prepare_worker

ROWS_PER_PAYLOAD = 65_536
BOUNDS = ("heartbeat", "progress", "slack")
_KEY = StructType([StructField("key", BinaryType())])
_CONTENT = StructType([StructField("content", BinaryType())])


OUTPUT = StructType(
    [
        StructField("page", BinaryType()),
        StructField("element_kind", ByteType()),
        StructField("element", BinaryType()),
        *(StructField(name, LongType()) for name in COUNT_NAMES),
        *(StructField(name, StringType()) for name in BOUNDS),
    ]
)
"""A row out of a shard carries a page of results, an element, or the shard's account."""


_OUTPUT_ROW = Row(*OUTPUT.names)


class SparkCells:
    """State cells in one RocksDB map; the cell's name is part of the key.

    Each access is a message to the JVM. Cells without a key are small and all of them are
    read and written in every batch, so they share one record, which ``flush`` writes.
    """

    def __init__(self, cells: Any) -> None:
        self._cells = cells
        self._values: dict[str, bytes] | None = None

    def get(self, cell: str, key: bytes) -> bytes | None:
        return self._read(_key(cell, key)) if key else self._held().get(cell)

    def put(self, cell: str, key: bytes, content: bytes) -> None:
        if key:
            self._cells.updateValue((_key(cell, key),), (content,))
        else:
            self._held()[cell] = content

    def remove(self, cell: str, key: bytes) -> None:
        if key:
            self._cells.removeKey((_key(cell, key),))
        else:
            self._held().pop(cell, None)

    def flush(self) -> None:
        if self._values is not None:
            self._cells.updateValue((_VALUES,), (_packed(self._values),))

    def _held(self) -> dict[str, bytes]:
        if self._values is None:
            self._values = _unpacked(self._read(_VALUES) or b"")
        return self._values

    def _read(self, key: bytes) -> bytes | None:
        found = self._cells.getValue((key,))
        return None if found is None else bytes(found[0])


_VALUES = b"values"
_LENGTHS = struct.Struct(">II")


def _packed(values: dict[str, bytes]) -> bytes:
    parts = ((name.encode(), content) for name, content in values.items())
    return b"".join(_LENGTHS.pack(len(n), len(c)) + n + c for n, c in parts)


def _unpacked(record: bytes) -> dict[str, bytes]:
    values: dict[str, bytes] = {}
    at = 0
    while at < len(record):
        name, content = _LENGTHS.unpack_from(record, at)
        start = at + _LENGTHS.size
        at = start + name + content
        values[record[start : start + name].decode()] = record[start + name : at]
    return values


def _key(cell: str, key: bytes) -> bytes:
    return cell.encode() + b"\0" + key


class ShardProcessor(StatefulProcessor):
    """Hands a shard's envelopes to its stage and the stage's output back to Spark."""

    def __init__(self, plan: StagePlan, shard_keys: tuple[int, ...], last: bool) -> None:
        self._plan, self._shard_keys, self._last = plan, shard_keys, last

    def init(self, handle: StatefulProcessorHandle) -> None:
        prepare_worker()
        self._state = handle.getMapState("cells", _KEY, _CONTENT)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        shard = self._shard_keys.index(key[0])
        cells = SparkCells(self._state)
        stage = Stage(self._plan, cells, Context(shard, len(self._shard_keys)))
        output = stage.batch(Envelope(shard, row["kind"], bytes(row["payload"])) for row in rows)
        cells.flush()
        yield self._account(output)
        for rows_out in output.rows:
            for start in range(0, rows_out.num_rows, ROWS_PER_PAYLOAD):
                yield _row(page=page_payload(rows_out.slice(start, ROWS_PER_PAYLOAD)))
        if shard == 0 and not self._last:
            for element in output.onward:
                kind, payload = element_payload(element)
                yield _row(element_kind=int(kind), element=payload)

    def _account(self, output: BatchOutput) -> Row:
        domain = self._plan.layout.domain
        bounds = {
            "heartbeat": domain.show(output.heartbeat),
            "progress": domain.show(output.progress),
            "slack": domain.show_length(output.slack),
        }
        return _row(**asdict(output.counts), **bounds)

    def close(self) -> None:
        pass


def _row(**values: Any) -> Row:
    return _OUTPUT_ROW(*(values.get(name) for name in OUTPUT.names))


@dataclass(frozen=True)
class Unpack:
    """Pages of results back into rows, with the elements beside them but in the last stage."""

    schema: pa.Schema
    last: bool

    @property
    def out_schema(self) -> pa.Schema:
        if self.last:
            return self.schema
        return self.schema.append(pa.field("element_kind", pa.int8())).append(
            pa.field("element", pa.binary())
        )

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        for batch in batches:
            pages, kinds, elements = batch.columns
            for page, kind, element in zip(pages, kinds, elements, strict=True):
                if page.is_valid:
                    yield self._rows(read_page(page.as_py(), self.schema))
                elif element.is_valid and not self.last:
                    yield self._element(kind.as_py(), element.as_py())

    def _rows(self, page: pa.RecordBatch) -> pa.RecordBatch:
        if self.last:
            return page
        rows = page.num_rows
        columns = [*page.columns, pa.nulls(rows, pa.int8()), pa.nulls(rows, pa.binary())]
        return pa.RecordBatch.from_arrays(columns, schema=self.out_schema)

    def _element(self, kind: int, payload: bytes) -> pa.RecordBatch:
        columns = [pa.nulls(1, field.type) for field in self.schema]
        columns += [pa.array([kind], pa.int8()), pa.array([payload], pa.binary())]
        return pa.RecordBatch.from_arrays(columns, schema=self.out_schema)

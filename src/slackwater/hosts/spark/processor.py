"""The stateful side on Spark: one shard, one micro-batch, one call of ``Stage.batch``."""

from __future__ import annotations

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
from slackwater.hosts.spark.front import spare_collector

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
    """State cells in one RocksDB map; the cell's name is part of the key."""

    def __init__(self, cells: Any) -> None:
        self._cells = cells

    def get(self, cell: str, key: bytes) -> bytes | None:
        found = self._cells.getValue((_key(cell, key),))
        return None if found is None else bytes(found[0])

    def put(self, cell: str, key: bytes, content: bytes) -> None:
        self._cells.updateValue((_key(cell, key),), (content,))

    def remove(self, cell: str, key: bytes) -> None:
        self._cells.removeKey((_key(cell, key),))


def _key(cell: str, key: bytes) -> bytes:
    return cell.encode() + b"\0" + key


class ShardProcessor(StatefulProcessor):
    """Hands a shard's envelopes to its stage and the stage's output back to Spark."""

    def __init__(self, plan: StagePlan, shard_keys: tuple[int, ...], last: bool) -> None:
        self._plan, self._shard_keys, self._last = plan, shard_keys, last

    def init(self, handle: StatefulProcessorHandle) -> None:
        spare_collector()
        self._cells = SparkCells(handle.getMapState("cells", _KEY, _CONTENT))

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:
        shard = self._shard_keys.index(key[0])
        stage = Stage(self._plan, self._cells, Context(shard, len(self._shard_keys)))
        output = stage.batch(Envelope(shard, row["kind"], bytes(row["payload"])) for row in rows)
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
        spare_collector()
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

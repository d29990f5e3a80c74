"""The map side on Spark: Arrow batches in, envelopes out. One crossing from the JVM."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from slackwater.core.disorder.summary import Watch
from slackwater.core.envelope import Envelope, Kind, page_payload, to_every_shard
from slackwater.core.windows.aggregate import FINAL
from slackwater.core.windows.bucket import Ingest
from slackwater.core.windows.layout import concat
from slackwater.core.windows.operators import AnyLayout
from slackwater.hosts.spark.worker import prepare_worker

ENVELOPE = pa.schema([("shard", pa.int32()), ("kind", pa.int8()), ("payload", pa.binary())])
ROWS_AT_ONCE = 262_144
"""Spark's batches are small by default; grouping a larger page costs less per row."""


@dataclass(frozen=True)
class Front:
    """The function that ``mapInArrow`` runs over the tuples of a stream."""

    layout: AnyLayout
    types: tuple[pa.DataType, ...]
    shard_keys: tuple[int, ...]
    watch: Watch

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        ingest = Ingest(self.layout, len(self.shard_keys), self.watch)
        yield from enveloped(ingest.run(pages(batches, self.types)), self.shard_keys)


@dataclass(frozen=True)
class LaterFront:
    """The same over the results of an earlier stage.

    After the stage's inputs come ``window``, ``kind`` and ``tuples``, and an element's kind
    and payload; a row carries either a result or an element.
    """

    layout: AnyLayout
    types: tuple[pa.DataType, ...]
    shard_keys: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        prepare_worker()
        held = list(batches)
        shards = len(self.shard_keys)
        finals: list[pa.RecordBatch] = []
        others: list[Envelope] = []
        for batch in held:
            window, kinds, tuples, element_kinds, payloads = batch.columns[len(self.types) :]
            is_final = np.asarray(pa.compute.equal(kinds, FINAL).fill_null(False))
            finals.append(batch.select(list(range(len(self.types)))).filter(pa.array(is_final)))
            elements = np.flatnonzero(np.asarray(payloads.is_valid()))
            for row in elements.tolist():
                kind, payload = Kind(element_kinds[row].as_py()), payloads[row].as_py()
                others += to_every_shard(kind, payload, shards)
            is_late = ~is_final & np.asarray(payloads.is_null())
            if is_late.any():
                others.append(self._late(window, tuples, is_late))
        ingest = Ingest(self.layout, shards)
        yield from enveloped(ingest.run(pages(finals, self.types)), self.shard_keys)
        yield from enveloped(others, self.shard_keys)

    def _late(self, window: pa.Array, tuples: pa.Array, rows: np.ndarray) -> Envelope:
        schema = self.layout.late_schema
        columns = [window.cast(schema.types[0]), tuples.cast(schema.types[1])]
        page = pa.RecordBatch.from_arrays(columns, schema=schema).filter(pa.array(rows))
        return Envelope(0, Kind.LATE, page_payload(page))


def pages(
    batches: Iterable[pa.RecordBatch], types: tuple[pa.DataType, ...]
) -> Iterator[pa.RecordBatch]:
    """Larger pages of the expected types; the session's time zone is not ours."""
    schema = pa.schema([pa.field(f"c{i}", type_) for i, type_ in enumerate(types)])
    held: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        arrays = [column.cast(type_) for column, type_ in zip(batch.columns, types, strict=True)]
        held.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield concat(held, schema)
            held, rows = [], 0
    if rows:
        yield concat(held, schema)


def enveloped(
    envelopes: Iterable[Envelope], shard_keys: tuple[int, ...]
) -> Iterator[pa.RecordBatch]:
    """Envelopes as rows of Spark, under the key of their shard."""
    for shard, kind, payload in envelopes:
        arrays = [
            pa.array([shard_keys[shard]], pa.int32()),
            pa.array([kind], pa.int8()),
            pa.array([payload], pa.binary()),
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=ENVELOPE)

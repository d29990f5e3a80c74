"""A stable hash of key columns: which shard a group lives in.

It must not change between processes, machines or releases, since state is kept by shard.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.grouping import canonical_floats

Hashes = npt.NDArray[np.uint64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_PRIME = np.uint64(0x100000001B3)
_NULL = np.uint64(0x6E756C6C)


def shard_of(keys: Sequence[pa.Array], rows: int, shards: int) -> npt.NDArray[np.int64]:
    """The shard index of each row, in ``0 .. shards-1``; without keys everything is in 0."""
    if not keys or shards == 1:
        return np.zeros(rows, dtype=np.int64)
    mixed = np.zeros(rows, dtype=np.uint64)
    for column in keys:
        mixed = _mix(mixed * _PRIME + hash_column(column))
    return (mixed % np.uint64(shards)).astype(np.int64)


def hash_column(column: pa.Array) -> Hashes:
    """One 64-bit hash per value; equal values hash alike, nulls to a constant."""
    if pa.types.is_struct(column.type):
        mixed = np.zeros(len(column), dtype=np.uint64)
        for part in column.flatten():
            mixed = _mix(mixed * _PRIME + hash_column(part))
        return _with_nulls(mixed, column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    if pa.types.is_floating(column.type):
        column = canonical_floats(column.cast(pa.float64()))
    if pa.types.is_decimal(column.type):
        return _with_nulls(_hash_decimals(column), column)
    if pa.types.is_string(column.type) or pa.types.is_binary(column.type):
        return _with_nulls(_hash_bytes(column), column)
    return _with_nulls(_mix(_words(column)), column)


def _words(column: pa.Array) -> Hashes:
    width = {32: pa.int32(), 64: pa.int64()}.get(column.type.bit_width)
    if width is not None and not pa.types.is_integer(column.type):
        column = column.view(width)
    filled = column.fill_null(0).cast(pa.int64())
    return np.asarray(filled).astype(np.int64).view(np.uint64)


def _hash_decimals(column: pa.Array) -> Hashes:
    wide = column.cast(pa.decimal128(38, column.type.scale))
    words = np.frombuffer(wide.buffers()[1], dtype=np.uint64)
    words = words[2 * wide.offset : 2 * (wide.offset + len(wide))]
    return _mix(words[0::2] * _PRIME + words[1::2])


def _hash_bytes(column: pa.Array) -> Hashes:
    """A polynomial over each value's bytes, for all values at once."""
    column = column.cast(pa.large_binary())
    _, offsets_buffer, data_buffer = column.buffers()
    offsets = np.frombuffer(offsets_buffer, dtype=np.int64)
    offsets = offsets[column.offset : column.offset + len(column) + 1]
    lengths = np.diff(offsets)
    if data_buffer is None or offsets[-1] == offsets[0]:
        return _mix(lengths.astype(np.uint64))
    data = np.frombuffer(data_buffer, dtype=np.uint8)[offsets[0] : offsets[-1]]
    within = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], lengths)
    terms = (data.astype(np.uint64) + np.uint64(1)) * _powers(int(lengths.max()))[within]
    sums = np.zeros(len(column), dtype=np.uint64)
    filled = np.flatnonzero(lengths)
    sums[filled] = np.add.reduceat(terms, (offsets[:-1] - offsets[0])[filled])
    return _mix(sums + lengths.astype(np.uint64))


def _powers(count: int) -> Hashes:
    return np.cumprod(np.full(count, _PRIME, dtype=np.uint64), dtype=np.uint64)


def _with_nulls(hashes: Hashes, column: pa.Array) -> Hashes:
    if column.null_count == 0:
        return hashes
    return np.where(np.asarray(pc.is_null(column)), _NULL, hashes)


def _mix(words: Hashes) -> Hashes:
    words = words + _GOLDEN
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Hashes = words ^ (words >> np.uint64(31))
    return mixed

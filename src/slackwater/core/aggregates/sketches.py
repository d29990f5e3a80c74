"""Approximate aggregates of bounded size: distinct counts and percentiles.

Both are the same whenever the same partials are merged in the same order, so a restart
repeats them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import datasketches
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.aggregates.base import (
    Aggregate,
    as_floats,
    masked,
    needs_number,
    needs_share,
)
from slackwater.core.aggregates.holistic import exploded, lists
from slackwater.core.grouping import Groups
from slackwater.core.hashing import hash_column
from slackwater.core.time import valid_rows

Codes = npt.NDArray[np.int64]
DIGEST_SIZE = 200


@dataclass(frozen=True)
class ApproxCountDistinct(Aggregate):
    """The number of distinct values from their smallest hashes; exact for few of them.

    ``error`` is the relative standard deviation that is aimed at, as in Spark.
    """

    error: float = 0.03

    function: ClassVar[str] = "APPROX_COUNT_DISTINCT"
    parameters: ClassVar[tuple[str, ...]] = ("error",)
    approximate: ClassVar[bool] = True

    @classmethod
    def check_constants(cls, constants: Sequence[float]) -> str | None:
        if all(0.005 <= error <= 0.4 for error in constants):
            return None
        return f"{cls.function} needs a deviation from 0.005 to 0.4, not {constants[0]:g}"

    @property
    def kept(self) -> int:
        """How many hashes are kept: the deviation is one over the root of their number."""
        return max(16, round(1 / self.error**2) + 2)

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.large_list(pa.uint64()),)

    @property
    def result_type(self) -> pa.DataType:
        return pa.int64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        rows = valid_rows(inputs[0])
        hashes = hash_column(inputs[0].filter(pa.array(rows)))
        return [self._smallest(groups.codes[rows], hashes, groups.count)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        codes, hashes = exploded(partials[0])
        return [self._smallest(groups.codes[codes], np.asarray(hashes), groups.count)]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        offsets = np.asarray(partials[0].offsets)
        sizes = np.diff(offsets)
        full = sizes >= self.kept
        largest = np.asarray(partials[0].values)[offsets[1:][full] - 1]
        counts = sizes.astype(np.float64)
        counts[full] = (self.kept - 1) / (largest.astype(np.float64) / 2.0**64)
        return pa.array(np.rint(counts).astype(np.int64))

    def _smallest(
        self, codes: Codes, hashes: npt.NDArray[np.uint64], count: int
    ) -> pa.LargeListArray:
        order = np.lexsort((hashes, codes))
        codes, hashes = codes[order], hashes[order]
        fresh = np.ones(len(codes), dtype=bool)
        fresh[1:] = (codes[1:] != codes[:-1]) | (hashes[1:] != hashes[:-1])
        codes, hashes = codes[fresh], hashes[fresh]
        sizes = np.bincount(codes, minlength=count)
        ranks = np.arange(len(codes)) - (np.cumsum(sizes) - sizes)[codes]
        near = ranks < self.kept
        return lists(codes[near], pa.array(hashes[near], pa.uint64()), count)


@dataclass(frozen=True)
class ApproxPercentile(Aggregate):
    """The value at a share of the way through the values, from a t-digest for each group.

    NaN and infinities are left out.
    """

    share: float = 0.5

    function: ClassVar[str] = "APPROX_PERCENTILE"
    parameters: ClassVar[tuple[str, ...]] = ("share",)
    approximate: ClassVar[bool] = True
    constants_needed: ClassVar[int] = 1

    @classmethod
    def check_constants(cls, constants: Sequence[float]) -> str | None:
        return needs_share(cls, constants)

    @classmethod
    def check(cls, inputs: Sequence[pa.DataType]) -> str | None:
        return needs_number(cls, inputs)

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.large_binary(),)

    @property
    def result_type(self) -> pa.DataType:
        return pa.float64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        floats = np.asarray(as_floats(inputs[0]).fill_null(np.nan))
        rows = valid_rows(inputs[0]) & np.isfinite(floats)
        column = lists(groups.codes[rows], pa.array(floats[rows]), groups.count)
        # a copy: datasketches takes no read-only array
        values, offsets = np.array(column.values), np.asarray(column.offsets).tolist()
        digests = []
        for start, end in pairwise(offsets):
            digest = datasketches.tdigest_double(DIGEST_SIZE)
            if end > start:
                digest.update(values[start:end])
            digests.append(digest)
        return [_serialized(digests)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        digests: list[datasketches.tdigest_double | None] = [None] * groups.count
        for code, payload in zip(groups.codes.tolist(), partials[0], strict=True):
            digest = _read(payload)
            held = digests[code]
            if held is None:
                digests[code] = digest
            else:
                held.merge(digest)
        return [_serialized([digest for digest in digests if digest is not None])]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        digests = [_read(payload) for payload in partials[0]]
        present = np.array([not digest.is_empty() for digest in digests], dtype=bool)
        found = [0.0 if d.is_empty() else d.get_quantile(self.share) for d in digests]
        return masked(np.array(found, dtype=np.float64), present, pa.float64())


def _serialized(digests: Sequence[datasketches.tdigest_double]) -> pa.Array:
    return pa.array([digest.serialize() for digest in digests], pa.large_binary())


def _read(payload: pa.Scalar) -> datasketches.tdigest_double:
    return datasketches.tdigest_double.deserialize(payload.as_py())

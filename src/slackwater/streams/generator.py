"""A deterministic stream of disordered tuples, cut by time of arrival.

A tuple has an event time, and becomes visible at its arrival, a random delay later. The
stream is made in blocks of one second of event time, each with a generator of its own;
so what it holds depends on the options only, whatever the partitions or the batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from slackwater.core.time import MICROS_PER_SECOND
from slackwater.streams.blocks import Block, BlockCache, merge
from slackwater.streams.options import read_options
from slackwater.streams.parameters import Parameters

_CACHE = BlockCache()
_TIMESTAMP = pa.timestamp("us", tz="UTC")


def micros(seconds: float) -> int:
    return round(seconds * MICROS_PER_SECOND)


@dataclass(frozen=True)
class DisorderedStream(Parameters):
    """A stream by its options; two with equal options are the same stream.

    >>> stream = DisorderedStream(rate=2, value="counter", delay="constant", delay_mean=0.75)
    >>> stream.between(0, 2_000_000).column("value").to_pylist()
    [0.0, 1.0, 2.0]
    """

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> DisorderedStream:
        """A stream from texts, as Spark and job files give them; JobError if one is wrong.

        >>> DisorderedStream.from_options({"rate": "fast"})
        Traceback (most recent call last):
            ...
        slackwater.errors.JobError: option rate = 'fast' is refused: allowed is a number \
from 1e-06 to 1000000
        """
        stream = cls(**read_options(cls, options))
        stream.check_used(options)
        return stream

    @property
    def schema(self) -> pa.Schema:
        key = pa.string() if self.key_type == "string" else pa.int64()
        names = ("ts", "arrival", "key", "value", "seq")
        types = (_TIMESTAMP, _TIMESTAMP, key, pa.float64(), pa.int64())
        return pa.schema(list(zip(names, types, strict=True)))

    def between(self, first_us: int, end_us: int, part: int = 0, parts: int = 1) -> pa.Table:
        """The tuples that arrive in ``[first, end)`` microseconds after the start.

        Of several parts, part ``p`` has the seconds of event time that leave ``p`` when
        divided by ``parts``. Rows are ordered by arrival, and where that ties by seq.
        """
        found = []
        for second in self._seconds(first_us, end_us, part, parts):
            block = _CACHE.get(self, second, first_us)
            if block is not None:
                found.append(block.between(first_us, end_us))
        filled = [block for block in found if len(block)]
        return self._table(merge(filled)) if filled else self.schema.empty_table()

    def pages(self, seconds: float, page_seconds: float = 1.0) -> Iterator[pa.Table]:
        """What arrives in the first ``seconds``, cut into consecutive intervals of arrival."""
        end_us, step_us = micros(seconds), max(1, micros(page_seconds))
        for first_us in range(0, end_us, step_us):
            yield self.between(first_us, min(end_us, first_us + step_us))

    def _seconds(self, first_us: int, end_us: int, part: int, parts: int) -> range:
        """The seconds of event time that may hold what arrives in the interval."""
        if not 0 <= part < parts:
            raise ValueError(f"part {part} is not one of {parts}")
        first = max(0, (first_us - self.longest_delay_us) // MICROS_PER_SECOND)
        end = -(-end_us // MICROS_PER_SECOND)
        return range(first + (part - first) % parts, end, parts)

    def _table(self, block: Block) -> pa.Table:
        key = pa.array(block.key)
        if self.key_type == "string":
            key = _key_names(self.keys).take(key)
        times = [
            pa.array(ticks + self.start, pa.int64()).cast(_TIMESTAMP)
            for ticks in (block.ts, block.arrival)
        ]
        columns = [*times, key, pa.array(block.value), pa.array(block.seq)]
        return pa.Table.from_arrays(columns, schema=self.schema)


@lru_cache(maxsize=4)
def _key_names(keys: int) -> pa.Array:
    return pa.array(np.char.add("k", np.arange(keys).astype(str)), pa.string())

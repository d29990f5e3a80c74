"""Blocks: one second of event time each, made alone from the seed and the second.

A block knows its tuples in order of arrival, so an interval of arrival is a slice of it.
The cache keeps a few blocks for readers that go forward, and remembers of many more when
their last tuple arrives, so that they are not made again only to be found exhausted.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from slackwater.core.time import MICROS_PER_SECOND
from slackwater.streams.draws import (
    SEQ_BITS,
    Floats,
    Ints,
    draw_delays,
    draw_keys,
    draw_times,
    draw_values,
)
from slackwater.streams.parameters import Parameters

CACHED_ROWS = 4_000_000
REMEMBERED_ENDS = 100_000


@dataclass(frozen=True)
class Block:
    """Columns of equal length; times are microseconds since the start of the stream."""

    arrival: Ints
    ts: Ints
    key: Ints
    value: Floats
    seq: Ints

    def __len__(self) -> int:
        return len(self.arrival)

    def between(self, first_us: int, end_us: int) -> Block:
        """The tuples that arrive in ``[first, end)``."""
        low, high = np.searchsorted(self.arrival, (first_us, end_us))
        return self.take(slice(low, high))

    def take(self, rows: slice | Ints) -> Block:
        return Block(
            self.arrival[rows], self.ts[rows], self.key[rows], self.value[rows], self.seq[rows]
        )


def make_block(p: Parameters, second: int) -> Block:
    """The tuples of one second, by arrival and then seq. Delays are drawn last, so that
    streams that differ only in delay hold the same tuples."""
    rng = np.random.default_rng([p.seed, second])
    first, ts = draw_times(p, second, rng)
    key = draw_keys(p, len(ts), rng)
    value = draw_values(p, first, len(ts), rng)
    arrival = ts + draw_delays(p, ts, rng)
    # time within the block above the index: one sort of plain integers orders both
    index = np.arange(len(ts), dtype=np.int64)
    origin = second * MICROS_PER_SECOND
    packed = np.sort((arrival - origin) << SEQ_BITS | index)
    order = packed & ((1 << SEQ_BITS) - 1)
    seq = (second << SEQ_BITS) + order
    return Block((packed >> SEQ_BITS) + origin, ts[order], key[order], value[order], seq)


def merge(blocks: list[Block]) -> Block:
    """Blocks of ascending seconds as one, by arrival and then seq."""
    if len(blocks) == 1:
        return blocks[0]
    joined = Block(
        np.concatenate([block.arrival for block in blocks]),
        np.concatenate([block.ts for block in blocks]),
        np.concatenate([block.key for block in blocks]),
        np.concatenate([block.value for block in blocks]),
        np.concatenate([block.seq for block in blocks]),
    )
    return joined.take(np.argsort(joined.arrival, kind="stable"))


class BlockCache:
    """The blocks used last, up to a number of rows."""

    def __init__(self, rows: int = CACHED_ROWS) -> None:
        self._limit = rows
        self._rows = 0
        self._blocks: OrderedDict[tuple[Parameters, int], Block] = OrderedDict()
        self._ends: OrderedDict[tuple[Parameters, int], int] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, p: Parameters, second: int, first_us: int) -> Block | None:
        """The block, or None if it is known that nothing of it arrives at ``first`` or later."""
        key = (p, second)
        with self._lock:
            if self._ends.get(key, first_us) < first_us:
                return None
            if key in self._blocks:
                self._blocks.move_to_end(key)
                return self._blocks[key]
        block = make_block(p, second)
        with self._lock:
            self._keep(key, block)
        return block

    def _keep(self, key: tuple[Parameters, int], block: Block) -> None:
        if key not in self._blocks:
            self._rows += len(block)
        self._blocks[key] = block
        self._ends[key] = int(block.arrival[-1]) if len(block) else -1
        while self._rows > self._limit:
            self._rows -= len(self._blocks.popitem(last=False)[1])
        if len(self._ends) > REMEMBERED_ENDS:
            self._ends.popitem(last=False)

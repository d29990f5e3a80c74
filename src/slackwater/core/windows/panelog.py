"""The pane log and the dyadic roll-up.

Every node is a log of partials under (level, index); a node at level l stands for the
2**l panes from ``index << l``. An append reads nothing. When a pane is sealed its log is
merged once; when both halves of a node are sealed it is formed from them. A late partial
is appended to its pane and to every formed node above it, so nodes never go stale.
"""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from slackwater.core.envelope import page_payload, read_page
from slackwater.core.intervals import IntervalSet
from slackwater.core.state import LogCell, State, ValueCell
from slackwater.core.windows.arithmetic import Ids
from slackwater.core.windows.layout import Layout, concat

Node: TypeAlias = tuple[int, int]


class PaneLog:
    """The nodes of one shard, read and written through its host's cells.

    Needs: pages sorted by pane; an aggregate whose merge is associative
    Time: an append reads nothing; a sealed pane is merged once, a node once from its halves
    Space: a row per group and live pane, and as much again for the nodes above
    From: ours, over Bhat 2011, section 2.2 (panes)

    ``_stored`` counts each node's fragments in the log. A node in ``_unsaved`` has its
    contents in ``_merged`` only; writing it is put off until the batch ends, since most
    nodes that are merged for a closing window are dropped right after.
    """

    def __init__(self, layout: Layout, state: State) -> None:
        self.layout = layout
        self._log = LogCell(state, "panes")
        self._directory = ValueCell(state, "directory")
        self._stored = _read_directory(self._directory.get())
        self._merged: dict[Node, pa.RecordBatch] = {}
        self._unsaved: set[Node] = set()

    @property
    def top_level(self) -> int:
        """The highest level that a window can use."""
        return self.layout.spec.panes_per_window.bit_length() - 1 if self.layout.rolls_up else 0

    def nodes(self) -> list[Node]:
        return sorted(self._stored)

    def live_panes(self) -> list[int]:
        return sorted(index for level, index in self._stored if level == 0)

    def append(self, pane: int, partials: pa.RecordBatch) -> None:
        """Add partials to a pane, and to the formed nodes above it."""
        payload = page_payload(partials)
        for level in range(self.top_level + 1):
            node = (level, pane >> level)
            if level == 0 or node in self._stored:
                self._save(node)
                length = self._stored.get(node, 0)
                self._log.append(_key(node), length, payload)
                self._stored[node] = length + 1
                self._merged.pop(node, None)

    def read(self, node: Node) -> pa.RecordBatch:
        """A node's partials, merged by keys."""
        if node not in self._merged:
            self._merge([node])
        return self._merged[node]

    def seal(self, newly: IntervalSet, sealed: IntervalSet, needed: IntervalSet) -> None:
        """Merge the panes just sealed, then form what nodes are now complete.

        All three are sets of pane ids; ``needed`` holds those that some window still wants.
        """
        wanted = newly.intersection(needed)
        panes = [(0, p) for p in self.live_panes() if wanted.covers(p, p + 1)]
        split = [node for node in panes if self._stored[node] > 1]
        self._merge(split)
        self._unsaved.update(split)
        for level in range(1, self.top_level + 1):
            self._form(level, sealed, needed)

    def nodes_of(self, panes: list[int], first: int, end: int) -> Iterator[Node]:
        """The fewest nodes that cover the live ``panes`` among ``first .. end-1`` exactly."""
        at = bisect_left(panes, first)
        while at < len(panes) and panes[at] < end:
            level, index = self._largest(panes[at], first, end)
            yield level, index
            at = bisect_left(panes, (index + 1) << level, at)

    def _largest(self, pane: int, first: int, end: int) -> Node:
        for level in range(self.top_level, 0, -1):
            index = pane >> level
            inside = index << level >= first and (index + 1) << level <= end
            if inside and (level, index) in self._stored:
                return level, index
        return 0, pane

    def replace(self, node: Node, partials: pa.RecordBatch) -> None:
        """Put other contents in place of a node's; an empty node goes."""
        if partials.num_rows == 0:
            self.drop(node)
            return
        self._merged[node] = partials
        self._unsaved.add(node)
        self._stored.setdefault(node, 0)

    def drop(self, node: Node) -> None:
        self._log.drop(_key(node), self._stored.pop(node, 0))
        self._merged.pop(node, None)
        self._unsaved.discard(node)

    def drop_before(self, pane: int | float) -> None:
        """Drop every node that begins below a pane: no open window holds it whole."""
        for node in [n for n in self._stored if n[1] << n[0] < pane]:
            self.drop(node)

    def flush(self) -> None:
        for node in sorted(self._unsaved):
            self._save(node)
        self._directory.set(_directory_bytes(self._stored))

    def _save(self, node: Node) -> None:
        if node not in self._unsaved:
            return
        self._unsaved.discard(node)
        self._log.append(_key(node), 0, page_payload(self._merged[node]))
        self._log.drop(_key(node), self._stored[node], keep=1)
        self._stored[node] = 1

    def _fragments(self, node: Node) -> list[pa.RecordBatch]:
        if node in self._merged:
            return [self._merged[node]]
        payloads = self._log.read(_key(node), self._stored[node])
        fragments = [read_page(payload, self.layout.partial_schema) for payload in payloads]
        if len(fragments) == 1:
            self._merged[node] = fragments[0]
        return fragments

    def _merge(self, nodes: Sequence[Node]) -> None:
        """Merge each node's own fragments, all nodes in one grouping."""
        merged = self.merge_each([(place, [node]) for place, node in enumerate(nodes)])
        self._merged.update({nodes[place]: partials for place, partials in merged.items()})

    def merge_each(self, wanted: Sequence[tuple[int, Sequence[Node]]]) -> dict[int, pa.RecordBatch]:
        """For each id the merge of its nodes' partials; ids must ascend."""
        merged: dict[int, pa.RecordBatch] = {}
        for ids, partials in self.merge_many(wanted):
            starts = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
            ends = np.append(starts[1:], len(ids))
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
                merged[int(ids[start])] = partials.slice(start, end - start)
        return merged

    def merge_many(
        self, wanted: Sequence[tuple[int, Sequence[Node]]], rows_at_once: int = 1_000_000
    ) -> Iterator[tuple[Ids, pa.RecordBatch]]:
        """The same as pages of (id, partials), without holding all of them at once."""
        ids: list[Ids] = []
        batches: list[pa.RecordBatch] = []
        rows = 0
        for id_, nodes in wanted:
            for node in nodes:
                for fragment in self._fragments(node):
                    ids.append(np.full(fragment.num_rows, id_, dtype=np.int64))
                    batches.append(fragment)
                    rows += fragment.num_rows
            if rows >= rows_at_once:
                yield self.layout.merge(np.concatenate(ids), self._together(batches))
                ids, batches, rows = [], [], 0
        if batches:
            yield self.layout.merge(np.concatenate(ids), self._together(batches))

    def _together(self, batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
        return concat(batches, self.layout.partial_schema)

    def _form(self, level: int, sealed: IntervalSet, needed: IntervalSet) -> None:
        below = level - 1
        halves: dict[int, list[Node]] = {}
        for node in self.nodes():
            if node[0] == below and self._can_form((level, node[1] >> 1), sealed, needed):
                halves.setdefault(node[1] >> 1, []).append(node)
        for parent, merged in self.merge_each(sorted(halves.items())).items():
            self.replace((level, parent), merged)

    def _can_form(self, node: Node, sealed: IntervalSet, needed: IntervalSet) -> bool:
        level, index = node
        first, end = index << level, (index + 1) << level
        wanted = node not in self._stored and needed.covers(first, first + 1)
        return wanted and sealed.covers(first, end)


def _key(node: Node) -> bytes:
    return struct.pack(">Bq", *node)


def _directory_bytes(lengths: dict[Node, int]) -> bytes:
    rows = [(level, index, length) for (level, index), length in sorted(lengths.items())]
    return np.array(rows, dtype="<i8").tobytes()


def _read_directory(stored: bytes | None) -> dict[Node, int]:
    if not stored:
        return {}
    rows = np.frombuffer(stored, dtype="<i8").reshape(-1, 3).tolist()
    return {(level, index): length for level, index, length in rows}

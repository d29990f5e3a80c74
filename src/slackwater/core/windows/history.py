"""The window buffer: released tuples in their order, kept while a later window needs them."""

from __future__ import annotations

import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.envelope import page_payload, read_page
from slackwater.core.state import LogCell, State, ValueCell
from slackwater.core.windows.layout import concat

SPARE_ROWS = 1_024
"""Rows no longer needed are let be until they are this many and as many as the others."""


class History:
    """A log of pages. It is only appended to, and written anew once half of it is waste."""

    def __init__(self, state: State, name: str, schema: pa.Schema) -> None:
        self._schema = schema
        self._log = LogCell(state, name)
        self._cell = ValueCell(state, f"{name} length")
        self._fragments, self._stored = _lengths(self._cell.get())
        self._page: pa.RecordBatch | None = None
        self._fresh: list[pa.RecordBatch] = []

    def __len__(self) -> int:
        fresh = sum(page.num_rows for page in self._fresh)
        return self._stored + fresh

    def page(self) -> pa.RecordBatch:
        """All tuples that are kept."""
        if self._page is None:
            payloads = self._log.read(b"", self._fragments)
            pages = [read_page(payload, self._schema) for payload in payloads]
            stored = concat(pages, self._schema) if pages else _empty(self._schema)
            self._page = concat([stored, *self._fresh], self._schema)
        return self._page

    def extend(self, page: pa.RecordBatch) -> None:
        self._fresh.append(page)
        self._page = None

    def keep(self, needed: npt.NDArray[np.bool_]) -> None:
        """Let go of what is not needed, once it is much; until then it does no harm."""
        waste = len(needed) - int(needed.sum())
        if waste == len(needed) or waste > max(SPARE_ROWS, len(needed) // 2):
            page = self.page().filter(pa.array(needed))
            self._log.drop(b"", self._fragments)
            self._fragments = self._stored = 0
            self._fresh = [page] if page.num_rows else []
            self._page = page

    def flush(self) -> None:
        for page in self._fresh:
            self._log.append(b"", self._fragments, page_payload(page))
            self._fragments += 1
            self._stored += page.num_rows
        self._fresh = []
        self._cell.set(struct.pack(">qq", self._fragments, self._stored))


def _lengths(stored: bytes | None) -> tuple[int, int]:
    """Fragments in the log, and rows in them."""
    if stored is None:
        return 0, 0
    fragments, rows = struct.unpack(">qq", stored)
    return fragments, rows


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema)

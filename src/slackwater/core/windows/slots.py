"""The slack buffer: tuples in time slots, out again in WATTR order (Kim 2010, section 3).

The paper's circular array has one element for each timestamp. Here a slot is a stretch of
ticks and its number is the key of a log, so placing a tuple costs the same however many
are held, a gap costs nothing, and a tuple far ahead does not stretch the array.
"""

from __future__ import annotations

import json
import math
import struct
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.envelope import page_payload, read_page
from slackwater.core.intervals import Bound
from slackwater.core.state import LogCell, State, ValueCell
from slackwater.core.time import Ticks
from slackwater.core.windows.layout import concat

SLOTS_PER_PAGE = 32
MOST_SLOTS = 4_096
_FURTHEST = 2**62


class SlackBuffer:
    """Pages whose first column is the tick, kept until the heartbeat passes them.

    Needs: pages in any order
    Time: constant per tuple, one append for each slot that a page touches
    Space: the tuples held
    From: Kim 2010, section 3 (the circular array), with slots of ticks as keys of a log
    """

    def __init__(self, state: State, name: str, schema: pa.Schema) -> None:
        self._schema = schema
        self._log = LogCell(state, name)
        self._cell = ValueCell(state, f"{name} slots")
        stored: dict[str, Any] = json.loads(self._cell.get() or b'{"width": 0, "slots": []}')
        self._width: int | float = stored["width"]
        self._fragments = {slot: fragments for slot, fragments, _ in stored["slots"]}
        self._rows = {slot: rows for slot, _, rows in stored["slots"]}

    def __len__(self) -> int:
        """How many tuples are held."""
        return sum(self._rows.values())

    def place(self, page: pa.RecordBatch) -> None:
        """Each tuple into its slot: one append for each slot that the page touches."""
        if page.num_rows == 0:
            return
        ticks = page.column(0).to_numpy()
        self._width = self._width or _width(ticks)
        slots = self._slots(ticks)
        order = _order(slots)
        if order is not None:
            slots, page = slots[order], page.take(pa.array(order))
        starts = np.flatnonzero(np.diff(slots, prepend=slots[0] - 1))
        ends = np.append(starts[1:], len(slots))
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            self._append(int(slots[start]), page.slice(start, end - start))
        if len(self._rows) > MOST_SLOTS:
            self._widen()

    def release(self, below: Bound) -> pa.RecordBatch:
        """Take out all tuples below a tick, in the order of their ticks, then of arrival."""
        found: list[pa.RecordBatch] = []
        for slot in [slot for slot in sorted(self._rows) if slot * self._width < below]:
            page = self._take(slot)
            early = page.column(0).to_numpy() < below
            if early.all():
                found.append(page)
                continue
            found.append(page.filter(pa.array(early)))
            self._append(slot, page.filter(pa.array(~early)))
        if not found:
            return pa.RecordBatch.from_pylist([], self._schema)
        page = concat(found, self._schema)
        ticks = page.column(0).to_numpy()
        if (ticks[1:] >= ticks[:-1]).all():
            return page
        return page.take(pa.array(np.argsort(ticks, kind="stable")))

    def flush(self) -> None:
        slots = [[slot, self._fragments[slot], self._rows[slot]] for slot in sorted(self._rows)]
        self._cell.set(json.dumps({"width": self._width, "slots": slots}).encode())

    def _slots(self, ticks: Ticks) -> npt.NDArray[np.int64]:
        if isinstance(self._width, int):
            return np.floor_divide(ticks, self._width)
        places = np.clip(np.floor(ticks / self._width), -_FURTHEST, _FURTHEST)
        return places.astype(np.int64)

    def _append(self, slot: int, page: pa.RecordBatch) -> None:
        length = self._fragments.get(slot, 0)
        self._log.append(_key(slot), length, page_payload(page))
        self._fragments[slot] = length + 1
        self._rows[slot] = self._rows.get(slot, 0) + page.num_rows

    def _take(self, slot: int) -> pa.RecordBatch:
        length = self._fragments.pop(slot)
        del self._rows[slot]
        payloads = list(self._log.read(_key(slot), length))
        self._log.drop(_key(slot), length)
        return concat([read_page(payload, self._schema) for payload in payloads], self._schema)

    def _widen(self) -> None:
        """Fewer, wider slots: the first page was no guide to how far tuples are spread."""
        pages = [self._take(slot) for slot in sorted(self._rows)]
        everything = concat(pages, self._schema)
        ticks = everything.column(0).to_numpy()
        self._width = max(_width(ticks), self._width * 2)
        self.place(everything)


def _width(ticks: Ticks) -> int | float:
    """A power of two that cuts the page's stretch of ticks into some tens of slots."""
    low, high = ticks.min().item(), ticks.max().item()
    exponent = math.frexp((float(high) - float(low)) / SLOTS_PER_PAGE or 1.0)[1]
    return 2.0**exponent if ticks.dtype == np.float64 else 2 ** max(exponent, 0)


def _order(slots: npt.NDArray[np.int64]) -> npt.NDArray[np.int64] | None:
    """The stable order by slot, in linear time where the slots are close to each other."""
    if (slots[1:] >= slots[:-1]).all():
        return None
    low = int(slots.min())
    if int(slots.max()) - low < 2**15:
        slots = (slots - low).astype(np.int16)  # NumPy sorts small integers by radix
    return np.argsort(slots, kind="stable")


def _key(slot: int) -> bytes:
    return struct.pack(">q", slot)

"""The slack buffer gives back everything once, in order, whatever goes in."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.state import MemoryState
from slackwater.core.windows.slots import MOST_SLOTS, SlackBuffer

SCHEMA = pa.schema([("tick", pa.int64()), ("seq", pa.int64())])
FLOATS = pa.schema([("tick", pa.float64()), ("seq", pa.int64())])

near = st.integers(-50, 50)
far = st.integers(-(2**60), 2**60)
pages = st.lists(st.lists(st.one_of(near, far), max_size=10), max_size=8)


def page_of(ticks: list[int], first: int, schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    seqs = pa.array(range(first, first + len(ticks)), pa.int64())
    values = [float(t) for t in ticks] if schema is FLOATS else ticks
    columns = [pa.array(values, schema.types[0]), seqs]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@given(pages, st.lists(st.one_of(near, far), max_size=6), st.sampled_from([SCHEMA, FLOATS]))
def test_releases_in_order_and_loses_nothing(
    given_pages: list[list[int]], heartbeats: list[int], schema: pa.Schema
) -> None:
    """Every tuple comes out once, by tick and then arrival, reopened at every step."""
    state, first = MemoryState(), 0
    placed: list[tuple[float, int]] = []
    for ticks in given_pages:
        buffer = SlackBuffer(state, "slack", schema)
        page = page_of(ticks, first, schema)
        buffer.place(page)
        buffer.flush()
        placed += zip(page.column(0).to_pylist(), page.column(1).to_pylist(), strict=True)
        first += len(ticks)
    for heartbeat in [*sorted(heartbeats), 2**61]:
        buffer = SlackBuffer(state, "slack", schema)
        out = buffer.release(heartbeat)
        buffer.flush()
        expected = sorted(pair for pair in placed if pair[0] < heartbeat)
        assert list(zip(*(c.to_pylist() for c in out.columns), strict=True)) == expected
        placed = [pair for pair in placed if pair[0] >= heartbeat]
        assert len(buffer) == len(placed)
    assert len(state.cells) == 1  # only the list of slots, now empty


def test_a_misleading_first_page_is_mended() -> None:
    """Slots that prove too narrow are made wider, so that they stay few."""
    state = MemoryState()
    buffer = SlackBuffer(state, "slack", SCHEMA)
    buffer.place(page_of([0, 1], 0))
    buffer.place(page_of([1_000 * i for i in range(2 * MOST_SLOTS)], 2))
    assert len(state.cells) <= MOST_SLOTS
    assert buffer.release(2**61).num_rows == 2 * MOST_SLOTS + 2

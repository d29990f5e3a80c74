"""The controller of a whole stage: all shards alike, nothing lost, robust against bad clocks."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import slackwater as sw
from slackwater.hosts.replay import Replay
from slackwater.streams import DisorderedStream

SCHEMA = "ts timestamp, arrival timestamp, key bigint, value double, seq bigint"
ESTIMATES = (
    "DRATIO 2%", "DRATIO 2%, ESTIMATOR mean-distance", "DRATIO 2%, ESTIMATOR interarrival",
    "DRATIO 2%, ESTIMATOR interarrival, ARRIVAL arrival", "ESTIMATOR max-delay",
    "ESTIMATOR adaptive-max", "ESTIMATOR remote-clock, ARRIVAL arrival", "ESTIMATOR p95",
)  # fmt: skip


def running(wait: str, shards: int = 1, range_: str = "RANGE 2 s, SLIDE 2 s") -> Replay:
    query = f"SELECT key, COUNT(*) AS n FROM S [{range_}, WATTR ts, {wait}] GROUP BY key"
    return sw.replayer(query, {"S": SCHEMA}, shards=shards)


def rows(table: pa.Table) -> list[str]:
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("wait", ESTIMATES)
def test_shards_and_pages_make_no_difference(wait):
    """One shard or three: the same heartbeat and rows in every batch, and all accounted for."""
    stream = DisorderedStream(rate=300, keys=5, delay="exponential", delay_mean=0.4, seed=2)
    one, three = running(wait), running(wait, shards=3)
    counted = 0
    for page in stream.pages(seconds=30, page_seconds=0.5):
        found, other = one.feed(page), three.feed(page)
        assert rows(found) == rows(other)
        assert one.report == three.report
        counted += sum(r["tuples"] for r in found.to_pylist())
    counted += sum(r["tuples"] for r in one.drain().to_pylist())
    assert counted == one.report.input > 0
    assert one.report.rejected == one.report.filtered == 0


@pytest.mark.parametrize("range_", ["RANGE 2 s, SLIDE 2 s", "RANGE 1 s"])
@pytest.mark.parametrize("changes", [0.0, 3.0])
def test_no_more_is_lost_than_dratio_permits(range_, changes):
    """Over windows of panes and of tuples; standing and changing delays."""
    options = {"delay_mu": 0.5, "delay_sigma": 0.3}
    if changes:
        options = {"delay_changes_every": changes, "delay_mu_high": 0.6, "delay_sigma_high": 0.5}
    stream = DisorderedStream(rate=500, keys=3, delay="normal", seed=4, **options)
    query = running("DRATIO 2%", range_=range_)
    for page in stream.pages(seconds=90, page_seconds=0.2):
        query.feed(page)
    account = query.report
    assert 0 < account.late <= account.below <= account.allowed
    assert account.drop_share <= 0.02 and account.budget >= 0
    if range_ == "RANGE 1 s":
        assert account.late == account.below  # there what is below the heartbeat is lost


@settings(max_examples=20)
@given(st.data())
def test_the_order_of_summaries_does_not_matter(data):
    """Tasks report in any order: the same heartbeat."""
    sizes = data.draw(st.lists(st.integers(1, 30), min_size=2, max_size=5))
    pages = [data.draw(st.lists(st.integers(0, 500), min_size=n, max_size=n)) for n in sizes]
    from slackwater.core.disorder.control import DisorderControl
    from slackwater.core.disorder.registry import EstimatorPlan
    from slackwater.core.disorder.spread import spread_of
    from slackwater.core.disorder.summary import Summary, summary_of
    from slackwater.core.state import MemoryState

    def reached(order: list[bytes]) -> object:
        state = MemoryState()
        for _ in range(4):
            control = DisorderControl(EstimatorPlan("quantile", 0.05))
            control.open(state)
            control.observe(summary_of(order))
            control.flush()
        return state.cells

    payloads = [
        Summary(tuples=len(p), high=max(p), spreads=(spread_of(np.array(p)),)).to_bytes()
        for p in pages
    ]
    assert reached(payloads) == reached(payloads[::-1])


def test_a_partition_that_lags_is_waited_for_and_then_let_go():
    """A tenth of the stream comes two seconds late for a while: the slack follows, both ways."""
    query = running("DRATIO 5%")
    stream = DisorderedStream(rate=500, keys=3, delay="exponential", delay_mean=0.05, seed=9)
    held: list[pa.Table] = []
    waits = []
    for number, page in enumerate(stream.pages(seconds=120, page_seconds=0.25)):
        lagging = pa.array(np.asarray(page.column("key")) == 0)
        now = [page]
        if 120 <= number < 280:
            now = [page.filter(pa.array(~np.asarray(lagging)))]
            held.append(page.filter(lagging))
            now += [held.pop(0)] if len(held) > 8 else []
        elif held:
            now, held = [*held, page], []
        query.feed(pa.concat_tables(now))
        waits.append(float(query.report.slack.split()[0]) if query.report.slack != "-" else 0.0)
    assert max(waits[:120]) < 1.0
    assert max(waits[150:280]) > 1.5
    assert waits[-1] < 1.0
    assert query.report.drop_share <= 0.05


def test_ticks_close_windows_of_an_idle_stream():
    """remote-clock: no tuple comes any more, but time goes on."""
    query = running("ESTIMATOR remote-clock, ARRIVAL arrival")
    base = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    stamps = [base + dt.timedelta(milliseconds=100 * i) for i in range(15)]
    arrivals = [stamp + dt.timedelta(milliseconds=50) for stamp in stamps]
    table = pa.table(
        {
            "ts": stamps, "arrival": arrivals, "key": [1] * 15, "value": [0.0] * 15,
            "seq": list(range(15)),
        }
    )  # fmt: skip
    assert query.feed(table).num_rows == 0
    assert query.tick(base + dt.timedelta(seconds=1.9)).num_rows == 0
    assert [row["n"] for row in query.tick("2026-01-01 00:00:03").to_pylist()] == [15]
    with pytest.raises(sw.JobError, match="a tick is a moment"):
        query.tick("soon")


def test_one_tuple_from_the_far_future_does_no_harm():
    """Without MAX FUTURE: it waits in its own window, and the others go on as they were."""
    stream = DisorderedStream(rate=300, keys=2, delay="exponential", delay_mean=0.2, seed=5)
    good, bad = running("DRATIO 2%"), running("DRATIO 2%")
    for number, page in enumerate(stream.pages(seconds=40, page_seconds=0.5)):
        expected = good.feed(page)
        if number == 30:
            far = page.slice(0, 1).set_column(
                0, "ts", pa.array([dt.datetime(2099, 1, 1, tzinfo=dt.UTC)], page.schema.types[0])
            )
            page = pa.concat_tables([page, far])
        assert rows(bad.feed(page)) == rows(expected)
    assert bad.report.heartbeat[:19] == good.report.heartbeat[:19]

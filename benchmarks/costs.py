"""What disorder control costs: placing tuples in the slack buffer, and estimating the slack."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from harness import Input, run_query, scratch, spark_session, write_input
from slackwater.core.disorder.control import DisorderControl
from slackwater.core.disorder.registry import EstimatorPlan
from slackwater.core.disorder.spread import spread_of
from slackwater.core.disorder.summary import Summary
from slackwater.core.state import MemoryState
from slackwater.core.windows.slots import SlackBuffer
from slackwater.hosts.spark.worker import prepare_worker
from windows import OURS, TUMBLING_ROWS, tumbling_query

SCHEMA = pa.schema([("tick", pa.int64()), ("value", pa.float64())])
PAGE = 10_000
HELD = (10_000, 100_000, 1_000_000, 10_000_000)
ARROW_ROWS = 131_072


def slack_buffer(arguments: argparse.Namespace) -> dict[str, Any]:
    """Nanoseconds to place a tuple, by how many the buffer holds already; pages of 10,000."""
    rows = []
    for held in HELD:
        buffer = _filled(int(held * arguments.scale))
        before = len(buffer)
        pages = [_page(seed, before) for seed in range(20)]
        times = [_placing(buffer, page) for page in pages]
        checked = len(buffer) == before + 20 * PAGE
        released = buffer.release(2**61)
        ordered = bool((np.diff(released.column(0).to_numpy()) >= 0).all())
        rows.append(
            {
                "held": before,
                "ns_per_tuple": round(statistics.median(times) / PAGE * 1e9, 1),
                "checked": checked and ordered and released.num_rows == before + 20 * PAGE,
            }
        )
    return {
        "ratio": round(rows[-1]["ns_per_tuple"] / rows[0]["ns_per_tuple"], 2),
        "checked": all(row["checked"] for row in rows),
        "rows": rows,
    }


def _placing(buffer: SlackBuffer, page: pa.RecordBatch) -> float:
    return _seconds(lambda: buffer.place(page))


def _filled(tuples: int) -> SlackBuffer:
    buffer = SlackBuffer(MemoryState(), "slack", SCHEMA)
    for number in range(tuples // PAGE):
        buffer.place(_page(number, tuples))
    return buffer


def _page(seed: int, spread: int) -> pa.RecordBatch:
    """Tuples a microsecond apart in the mean, disordered over all that the buffer holds."""
    random = np.random.default_rng(seed)
    ticks = random.integers(0, max(spread, PAGE), PAGE)
    columns = [pa.array(ticks), pa.array(random.uniform(0, 1, PAGE))]
    return pa.RecordBatch.from_arrays(columns, schema=SCHEMA)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def estimators(arguments: argparse.Namespace) -> dict[str, Any]:
    """What a batch of the tumbling benchmark spends on estimating, beside what it takes whole."""
    prepare_worker()
    rows = int(TUMBLING_ROWS * arguments.scale)
    pages = [_ticks(number) for number in range(-(-rows // ARROW_ROWS))]
    spreads = [spread_of(page) for page in pages]
    map_side = min(_seconds(lambda: [spread_of(p) for p in pages]) for _ in range(9))
    summary = Summary(tuples=rows, high=int(pages[-1].max()), spreads=tuple(spreads))
    shard_side = {
        name: min(_control_seconds(name, summary) for _ in range(9))
        for name in ("quantile", "mean-distance", "interarrival", "p95")
    }
    spark = spark_session()
    with scratch() as folder:
        write_input(folder, Input(8, rows, 12.0, 1_000))
        runs = [run_query(tumbling_query(spark, folder), OURS) for _ in range(arguments.rounds)]
    batch = statistics.median(second for run in runs for second in run.seconds)
    cores = 2
    shares = {n: (map_side + cores * s) / (cores * batch) for n, s in shard_side.items()}
    return {
        "ratio": round(max(shares.values()), 4),
        "checked": bool(sum(s.counts.sum() for s in spreads) > 0.99 * sum(map(len, pages))),
        "share_of_batch": {name: round(share, 4) for name, share in shares.items()},
        "ns_per_row": round(map_side / rows * 1e9, 2),
        "batch_s": round(batch, 3),
    }


def _ticks(seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    stamps = np.sort(random.uniform(0, 6e6, ARROW_ROWS)) - random.exponential(5e5, ARROW_ROWS)
    return stamps.astype(np.int64) + 6_000_000 * seed


def _control_seconds(name: str, summary: Summary) -> float:
    """One batch of the controller on one shard: state in, summaries, state out."""
    state = MemoryState()
    payload = summary.to_bytes()

    def batch() -> None:
        control = DisorderControl(EstimatorPlan(name, 0.01, per_second=1e6))
        control.open(state)
        control.observe(Summary.from_bytes(payload))
        control.flush()

    batch()
    return _seconds(batch)

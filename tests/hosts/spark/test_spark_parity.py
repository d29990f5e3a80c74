"""Our finals are the rows of Spark's own ``window()`` aggregation.

Both read the same disordered files, one a micro-batch, with the same fixed delay, and both
end on a tuple so far ahead that every window of the data is closed. All windows are
compared, those that lost late tuples included. With ``allowMultiple`` off, Spark drops by
the watermark in force as a batch began, which is our rule; it emits one batch later.
Spark aligns the starts of windows and we align the ends, so SLIDEs that do not divide RANGE
get a ``startTime``; windows with gaps, which Spark refuses, are tumbling windows of SLIDE
over the tuples in their last RANGE seconds. FIRST and LAST are ``min_by`` and ``max_by``
over times that do not repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from spark_files import finished, in_pages, read_files, start, write_files

import slackwater as sw
from slackwater.observe import Report
from slackwater.testing.values import same

pytestmark = pytest.mark.spark

SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", "UTC")),
        ("k", pa.int32()),
        ("name", pa.string()),
        ("i", pa.int32()),
        ("x", pa.float64()),
        ("y", pa.float64()),
        ("p", pa.decimal128(12, 3)),
        ("rank", pa.int64()),
    ]
)
TUPLES, PAGES = 1500, 4
SLACK_SECONDS = 5
ORIGIN_US = 1_767_225_600_000_000
WHERE = "i > 2 AND name <> 'b'"
MULTIPLE = "spark.sql.streaming.statefulOperator.allowMultiple"

AGGREGATES = {
    "n": ("COUNT(*)", "count(*)"),
    "n_x": ("COUNT(x)", "count(x)"),
    "sum_i": ("SUM(i)", "sum(i)"),
    "sum_x": ("SUM(x)", "sum(x)"),
    "sum_p": ("SUM(p)", "sum(p)"),
    "avg_i": ("AVG(i)", "avg(i)"),
    "avg_x": ("AVG(x)", "avg(x)"),
    "avg_p": ("AVG(p)", "avg(p)"),
    "var": ("VARIANCE(x)", "var_samp(x)"),
    "var_pop": ("VAR_POP(x)", "var_pop(x)"),
    "dev": ("STDDEV(i)", "stddev_samp(i)"),
    "dev_pop": ("STDDEV_POP(i)", "stddev_pop(i)"),
    "min_i": ("MIN(i)", "min(i)"),
    "max_i": ("MAX(i)", "max(i)"),
    "min_y": ("MIN(y)", "min(y)"),
    "max_y": ("MAX(y)", "max(y)"),
    "min_name": ("MIN(name)", "min(name)"),
    "max_name": ("MAX(name)", "max(name)"),
    "max_p": ("MAX(p)", "max(p)"),
    "first_name": ("FIRST(name)", "min_by(name, ts)"),
    "last_name": ("LAST(name)", "max_by(name, ts)"),
    "last_p": ("LAST(p)", "max_by(p, ts)"),
    "at_least": ("ARG_MIN(name, rank)", "min_by(name, rank)"),
    "at_most": ("ARG_MAX(x, rank)", "max_by(x, rank)"),
    "middle": ("MEDIAN(i)", "median(i)"),
    "high": ("PERCENTILE(i, 0.9)", "percentile(i, 0.9)"),
}


@dataclass(frozen=True)
class Shape:
    """Windows and groups, in seconds."""

    range: int
    slide: int
    keys: tuple[str, ...] = ()
    where: str = ""

    def query(self, aggregates: Sequence[str]) -> str:
        items = [*self.keys, *(f"{AGGREGATES[name][0]} AS {name}" for name in aggregates)]
        window = f"RANGE {self.range} s, SLIDE {self.slide} s, WATTR ts, SLACK {SLACK_SECONDS} s"
        where = f" WHERE {self.where}" if self.where else ""
        grouped = f" GROUP BY {', '.join(self.keys)}" if self.keys else ""
        return f"SELECT {', '.join(items)} FROM S [{window}]{where}{grouped}"

    def native(self, stream: DataFrame, aggregates: Sequence[str]) -> DataFrame:
        """The same for Spark alone."""
        stream = stream.withWatermark("ts", f"{SLACK_SECONDS} seconds")
        if self.where:
            # what reads the event time is not pushed below the watermark, and so cannot move it
            stream = stream.where(f"({self.where}) AND (i > 2 OR ts > '2999-01-01')")
        if self.slide > self.range:
            gap = self.slide - self.range
            stream = stream.where(f"unix_micros(ts) % {self.slide * 10**6} >= {gap * 10**6}")
        columns = [F.expr(AGGREGATES[name][1]).alias(name) for name in aggregates]
        found = stream.groupBy(self.window(), *self.keys).agg(*columns)
        shift = max(0, self.slide - self.range)
        bounds = f"named_struct('start', window.start + INTERVAL {shift} SECOND, 'end', window.end)"
        return found.withColumn("window", F.expr(bounds))

    def window(self) -> Any:
        slide = f"{self.slide} seconds"
        if self.slide > self.range:
            return F.window("ts", slide)
        shift = -self.range % self.slide
        return F.window("ts", f"{self.range} seconds", slide, f"{shift} seconds")


@dataclass(frozen=True)
class Case:
    name: str
    shape: Shape
    aggregates: tuple[str, ...]

    @property
    def query(self) -> str:
        return self.shape.query(self.aggregates)


TUMBLING = Shape(20, 20, ("k",))
WHOLE = Shape(10, 10)
SLIDING = Shape(20, 5, ("k",))
GAPS = Shape(5, 20, ("k",))
ODD = Shape(25, 10, ("k",))
CASES = [
    Case("tumbling counts", TUMBLING, ("n", "n_x")),
    Case("tumbling, first and last", TUMBLING, ("first_name", "last_name", "last_p")),
    Case("tumbling over everything", WHOLE, ("n", "sum_i", "sum_x", "sum_p")),
    Case("sliding sums", SLIDING, ("n", "sum_i", "sum_x", "sum_p")),
    Case("sliding averages", SLIDING, ("avg_i", "avg_x", "avg_p")),
    Case("sliding moments", SLIDING, ("var", "var_pop", "dev", "dev_pop")),
    Case("sliding extremes", SLIDING, ("min_i", "max_i", "min_y", "max_y")),
    Case("sliding arg-extremes", SLIDING, ("at_least", "at_most")),
    Case("sliding percentiles", SLIDING, ("middle", "high")),
    Case("gaps", GAPS, ("n", "sum_p", "min_name", "max_p")),
    Case("gaps that share no edge", Shape(7, 12, ("k",)), ("n", "max_i")),
    Case("slide does not divide range", ODD, ("n", "sum_i", "max_p", "first_name")),
    Case("slide does not divide range, everything", Shape(11, 4), ("n", "avg_p", "min_name")),
    Case("several keys, strings and nulls", Shape(30, 15, ("name", "k")), ("n", "n_x", "sum_x")),
    Case("keys that are decimals and strings", Shape(20, 10, ("p", "name")), ("n", "max_name")),
    Case("where", Shape(20, 10, ("k",), WHERE), ("n", "sum_i", "last_name")),
]


def tuples() -> pa.Table:
    """Tuples in the order of arrival: times that do not repeat, nulls and NaN in every column."""
    rng = np.random.default_rng(20)
    at_us = np.arange(TUPLES) * 100_000 + 1000 * rng.integers(0, 100, TUPLES)
    slow = rng.random(TUPLES) < 0.08
    delay_us = rng.exponential(1e6, TUPLES) + slow * rng.uniform(4e6, 60e6, TUPLES)

    def some(values: Any, share: float) -> Any:
        return [None if missing else v for v, missing in zip(values, rng.random(TUPLES) < share,
                                                              strict=True)]  # fmt: skip

    x = rng.integers(-4000, 4000, TUPLES) / 16
    columns = [
        some((at_us + ORIGIN_US).tolist(), 0.02),
        some(rng.integers(0, 6, TUPLES).tolist(), 0.05),
        some([f"{'abcd'[i]}" for i in rng.integers(0, 4, TUPLES)], 0.1),
        some(rng.integers(-50, 50, TUPLES).tolist(), 0.1),
        some(x.tolist(), 0.1),
        [float("nan") if odd else v for v, odd in zip(x.tolist(), rng.random(TUPLES) < 0.05,
                                                      strict=True)],
        some([Decimal(int(v)) / 1000 for v in rng.integers(-9000, 9000, TUPLES)], 0.1),
        rng.permutation(TUPLES).tolist(),
    ]  # fmt: skip
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    table = pa.Table.from_arrays(arrays, schema=SCHEMA)
    return table.take(pa.array(np.argsort(at_us + delay_us, kind="stable")))


def far_ahead() -> pa.Table:
    later = ORIGIN_US + 10**6 * (TUPLES // 10 + 3600)
    row = {"ts": later, "i": 9, "name": "a", "rank": -1}
    return pa.Table.from_pylist([row], schema=SCHEMA)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pages = [*in_pages(tuples(), PAGES), far_ahead()]
    return write_files(tmp_path_factory.mktemp("parity") / "files", pages)


@pytest.fixture(scope="module")
def native(spark: SparkSession, folder: Path) -> dict[Shape, list[dict[str, Any]]]:
    """Spark's own results, by shape: one streaming query with the aggregates of all its cases."""
    wanted: dict[Shape, list[str]] = {}
    for case in CASES:
        wanted.setdefault(case.shape, []).extend(case.aggregates)
    before = spark.conf.get(MULTIPLE)
    spark.conf.set(MULTIPLE, "false")
    running = {
        shape: start(shape.native(read_files(spark, folder, SCHEMA), list(dict.fromkeys(names))))
        for shape, names in wanted.items()
    }
    found = {shape: finished(spark, query).to_pylist() for shape, query in running.items()}
    spark.conf.set(MULTIPLE, before)
    return found


@pytest.fixture(scope="module")
def ours(spark: SparkSession, folder: Path) -> dict[str, tuple[pa.Table, Report]]:
    """Our results and accounts, by case: all queries run at once, which is faster."""
    running = {
        case.name: start(sw.sql(case.query, {"S": read_files(spark, folder, SCHEMA)}))
        for case in CASES
    }
    return {name: (finished(spark, query), sw.report(query)) for name, query in running.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_finals_are_those_of_spark(
    ours: dict[str, tuple[pa.Table, Report]], native: dict[Shape, list[dict[str, Any]]], case: Case
) -> None:
    """Row for row, with late tuples dropped from the same windows."""
    table, account = ours[case.name]
    finals = [row for row in table.to_pylist() if row["kind"] == "final"]
    wanted = (case.shape.keys, case.aggregates)
    assert_same(pick(finals, *wanted), pick(native[case.shape], *wanted))
    assert account.late > 0
    assert account.null > 0


def pick(
    rows: list[dict[str, Any]], keys: Sequence[str], aggregates: Sequence[str]
) -> list[list[Any]]:
    """Window, keys and aggregates of each row, in the order of windows and keys."""
    columns = [*keys, *aggregates]
    found = [[row["window"]["start"], row["window"]["end"], *(row[c] for c in columns)]
             for row in rows]  # fmt: skip
    return sorted(found, key=lambda row: repr(row[: 2 + len(keys)]))


def assert_same(ours: list[list[Any]], theirs: list[list[Any]]) -> None:
    assert len(ours) > 12
    assert len(ours) == len(theirs)
    for our, their in zip(ours, theirs, strict=True):
        assert all(map(same, our, their)), f"ours {our}\nSpark's {their}"

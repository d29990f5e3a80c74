"""What a terminal shows of a running query: result rows, and a line per batch."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, TextIO

import pyarrow as pa

from slackwater.observe.report import Report

ROWS_SHOWN = 10


def print_rows(table: pa.Table, out: TextIO, most: int = ROWS_SHOWN) -> None:
    """Result rows as an aligned table, the rest as a count."""
    if table.num_rows == 0:
        return
    window = table.column("window").combine_chunks()
    shown = table.slice(0, most)
    header = ["window", *[n for n in table.schema.names if n != "window"]]
    rows = []
    for row in shown.to_pylist():
        bounds = f"{_text(row['window']['start'])} .. {_text(row['window']['end'])}"
        rows.append([bounds, *[_text(row[name]) for name in header[1:]]])
    out.write(_aligned(header, rows))
    if len(window) > most:
        out.write(f"  … and {len(window) - most} more rows\n")
    out.flush()


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
             for row in (header, *rows)]  # fmt: skip
    return "\n".join(f"  {line}" for line in lines) + "\n"


def _text(value: Any) -> str:
    if isinstance(value, dt.datetime):
        text = value.astimezone(dt.UTC) if value.tzinfo else value
        form = "%H:%M:%S" if not text.microsecond else "%H:%M:%S.%f"
        return f"{text:%Y-%m-%d} {text.strftime(form)}"
    if isinstance(value, float):
        return f"{value:.6g}"
    return "null" if value is None else str(value)


def progress_line(progress: Any, report: Report) -> str:
    """One batch: how many tuples it brought, how long it took, and the account so far."""
    took = progress["durationMs"].get("triggerExecution", 0)
    parts = [
        f"batch {progress['batchId']}: {progress['numInputRows']} rows in {took} ms",
        f"heartbeat {report.heartbeat}",
        f"slack {report.slack}",
        f"late {report.late}",
        f"rejected {report.rejected}",
    ]
    return " | ".join(parts)

"""What the experiments share: parameters, generated streams, CSV files and pictures."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt

from slackwater.core.disorder.trial import Track, Trial
from slackwater.streams import DisorderedStream

Rows = Sequence[Mapping[str, Any]]


def parameters(folder: Path) -> dict[str, Any]:
    """The one parameter file of an experiment."""
    return tomllib.loads((folder / "parameters.toml").read_text())


def track_of(stream: Mapping[str, Any], tuples: int) -> Track:
    """So many tuples of a generated stream, in the order of their arrival."""
    generated = DisorderedStream(spacing="poisson", **stream)
    seconds = 1.05 * tuples / stream["rate"] + 1
    table = generated.between(0, round(seconds * 1e6)).slice(0, tuples)
    columns = (table.column(name).cast("int64").to_numpy() for name in ("ts", "arrival"))
    return Track.of(*columns)


def held_after(track: Track, found: Trial, tuples: int) -> int:
    """How many tuples are in the slack buffer after so many have come."""
    heartbeat = track.progress[tuples - 1] - found.waits[tuples - 1]
    return int((track.ticks[:tuples] > heartbeat).sum())


def write_rows(path: Path, rows: Rows) -> None:
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Rows of a CSV file, numbers as numbers."""
    with path.open(newline="") as file:
        return [{name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)]


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def lines(axes: Any, rows: Rows, x: str, y: str, by: str, label: str = "{}") -> None:
    """A line for each value of one column."""
    for value in dict.fromkeys(row[by] for row in rows):
        own = [row for row in rows if row[by] == value]
        shown = f"{value:g}" if isinstance(value, float) else value
        axes.plot(
            [r[x] for r in own], [r[y] for r in own], marker="o", ms=4, label=label.format(shown)
        )
    axes.legend()
    axes.grid(alpha=0.3)


def figure(columns: int) -> tuple[Any, Any]:
    return plt.subplots(1, columns, figsize=(5.5 * columns, 4), layout="constrained")


def save(picture: Any, path: Path) -> None:
    picture.savefig(path, dpi=110)
    plt.close(picture)

"""Pictures of Kim 2010, figures 3 and 4, from what run.py wrote."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from shared import figure, lines, read_rows, save


def main() -> None:
    out = HERE / "out"
    rows = [row for row in read_rows(out / "figure3.csv") if row["seed"] == 0]
    picture, (left, right) = figure(2)
    lines(left, rows, "tuples", "held", "method")
    left.set(title="Buffer size", xlabel="tuples so far", ylabel="tuples held", xscale="log")
    lines(right, rows, "tuples", "lost", "method")
    right.set(title="Tuples lost, DRATIO 0%", xlabel="tuples so far", ylabel="lost", xscale="log")
    save(picture, out / "figure3.png")

    rows = [r for r in read_rows(out / "figure4.csv") if r["seed"] == 0]
    rows = [r | {"permitted": 100 * r["dratio"], "percent": 100 * r["lost"]} for r in rows]
    picture, axes = figure(1)
    lines(axes, rows, "permitted", "percent", "method")
    axes.plot([0, 5], [0, 5], color="grey", ls="--")
    axes.set(title="Lost, by what is permitted", xlabel="DRATIO, %", ylabel="lost, %")
    save(picture, out / "figure4.png")


if __name__ == "__main__":
    main()

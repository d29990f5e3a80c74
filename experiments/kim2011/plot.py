"""Pictures of Kim 2011, figures 5, 6 and 7, from what run.py wrote."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from shared import figure, lines, read_rows, save

OUT = HERE / "out"
TITLES = {"standing": ("Constant stream", "sigma, ms"), "changing": ("Changing", "period, s")}


def figure_5() -> None:
    rows = read_rows(OUT / "figure5.csv")
    picture, (left, right) = figure(2)
    lines(left, rows, "W", "buffer", "period", "every {} s")
    left.set(title="Buffer size", xlabel="W, tuples", ylabel="tuples", xscale="log")
    lines(right, rows, "W", "lost_percent", "period", "every {} s")
    right.set(title="Tuples lost", xlabel="W, tuples", ylabel="%", xscale="log", yscale="log")
    save(picture, OUT / "figure5.png")


def figure_6() -> None:
    rows = read_rows(OUT / "figure6.csv")
    rows = [r | {"line": f"{r['method']}, {100 * r['dratio']:g}%"} for r in rows]
    picture, axes = figure(2)
    for place, kind in zip(axes, TITLES, strict=True):
        lines(place, [r for r in rows if r["stream"] == kind], "value", "lost_percent", "line")
        title, label = TITLES[kind]
        place.set(title=f"{title}: tuples lost", xlabel=label, ylabel="%", yscale="log")
    save(picture, OUT / "figure6.png")


def figure_7() -> None:
    rows = read_rows(OUT / "figure7.csv")
    picture, axes = figure(2)
    for place, kind in zip(axes, TITLES, strict=True):
        lines(place, [r for r in rows if r["stream"] == kind], "value", "buffer", "method")
        title, label = TITLES[kind]
        place.set(title=f"{title}: buffer at 0.1%", xlabel=label, ylabel="tuples")
    save(picture, OUT / "figure7.png")


def main() -> None:
    figure_5()
    figure_6()
    figure_7()


if __name__ == "__main__":
    main()

"""Kim 2010, figures 3 and 4: mean-distance beside the largest delay, and what DRATIO does."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from shared import held_after, parameters, track_of, write_rows
from slackwater.core.disorder.registry import EstimatorPlan
from slackwater.core.disorder.trial import trial

METHODS = ("max-delay", "adaptive-max", "mean-distance")


def figure_3(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Buffer size at the end and losses on the way, by how much data has come; DRATIO 0%."""
    for seed in range(given["seeds"]):
        track = track_of(given["stream"] | {"seed": seed}, max(given["sizes"]))
        for method in METHODS:
            found = trial(EstimatorPlan(method, 0.0).build(), track, given["period"])
            for size in given["sizes"]:
                held = held_after(track, found, size)
                lost = int(found.lost[:size].sum())
                yield {"method": method, "seed": seed, "tuples": size, "held": held, "lost": lost}


def figure_4(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What was lost, by what was permitted."""
    for seed in range(given["seeds"]):
        track = track_of(given["stream"] | {"seed": seed}, given["tuples"])
        for method in ("mean-distance", "quantile"):
            for share in given["shares"]:
                found = trial(EstimatorPlan(method, share).build(), track, given["period"])
                yield {
                    "method": method, "seed": seed, "dratio": share,
                    "lost": found.drop_share, "wait_ms": found.mean_wait / 1e3,
                }  # fmt: skip


def main() -> None:
    given = parameters(HERE)
    write_rows(HERE / "out" / "figure3.csv", list(figure_3(given)))
    write_rows(HERE / "out" / "figure4.csv", list(figure_4(given)))


if __name__ == "__main__":
    main()

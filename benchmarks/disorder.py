"""Every estimator on every kind of disorder, beside the best constant slack in hindsight.

Each estimator sees the same tuples in the same order. The wait is how far the heartbeat
trails the progress, in the mean over all tuples; times are those of the stream, so the
figures do not depend on the machine.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any, NamedTuple

from slackwater.core.disorder.registry import ESTIMATORS, STEERED, EstimatorPlan
from slackwater.core.disorder.trial import Track, Trial, trial
from slackwater.streams import DisorderedStream

SHARES = (0.05, 0.01, 0.005, 0.001)
TUPLES = 1_000_000
RATE = 10_000
MS = 1_000.0
STREAMS: dict[str, dict[str, Any]] = {
    "standing": {"delay": "normal", "delay_mu": 0.005, "delay_sigma": 0.003},
    "changing every 1 s": {"delay": "normal", "delay_changes_every": 1.0},
    "changing every 3 s": {"delay": "normal", "delay_changes_every": 3.0},
    "changing every 5 s": {"delay": "normal", "delay_changes_every": 5.0},
    "bursty": {"delay": "normal", "delay_mu": 0.005, "delay_sigma": 0.003, "burst_every": 10.0,
               "burst_length": 1.0, "burst_factor": 10.0},
    "lognormal": {"delay": "lognormal", "delay_mu": -6.0, "delay_sigma": 1.0},
}  # fmt: skip
CHANGING = {"delay_mu_low": 0.0, "delay_mu_high": 0.006, "delay_sigma_low": 0.0,
            "delay_sigma_high": 0.005}  # fmt: skip


def disorder(arguments: argparse.Namespace) -> dict[str, Any]:
    """Drop share and mean wait of all of them; ``ratio`` is the worst of quantile to hindsight.

    ``checked``: quantile kept every bound. ``shortest_within_bound``: nothing else that kept
    it waited less. ``worst_at_equal_drops``: quantile's wait if it may lose just what
    another lost, over the wait of that other, at its worst.
    """
    cells = []
    for name, options in STREAMS.items():
        track = stream_track(options, int(TUPLES * arguments.scale))
        tried = Tried(track, {})
        cells += [_cell(name, tried, share) for share in SHARES]
        print(f"  {name}: done", file=sys.stderr)
    kept = [cell for cell in cells if cell["bound_kept"]]
    return {
        "ratio": max(cell["wait_to_hindsight"] for cell in cells),
        "checked": len(kept) == len(cells),
        "shortest_within_bound": all(cell["shortest_within_bound"] for cell in cells),
        "worst_at_equal_drops": max(cell["worst_at_equal_drops"] for cell in cells),
        "cells": cells,
    }


def stream_track(options: dict[str, Any], tuples: int, seed: int = 7) -> Track:
    """The first tuples of a generated stream, as they arrive."""
    chosen = options | (CHANGING if "delay_changes_every" in options else {})
    stream = DisorderedStream(rate=RATE, spacing="poisson", seed=seed, **chosen)
    table = stream.between(0, round(tuples / RATE * 1e6))
    ticks = table.column("ts").cast("int64").to_numpy()[:tuples]
    arrivals = table.column("arrival").cast("int64").to_numpy()[:tuples]
    return Track.of(ticks, arrivals)


class Tried(NamedTuple):
    """A stream, and the trials on it so far by estimator and DRATIO."""

    track: Track
    trials: dict[tuple[str, float], Trial]

    def run(self, name: str, share: float) -> Trial:
        """A trial; those that DRATIO does not steer are run once."""
        key = (name, share if name in STEERED else 0.0)
        if key not in self.trials:
            estimator = EstimatorPlan(name, share, per_second=1e6).build()
            self.trials[key] = trial(estimator, self.track)
        return self.trials[key]


def _cell(name: str, tried: Tried, share: float) -> dict[str, Any]:
    """One stream at one DRATIO: what each estimator lost, and how long it waited."""
    constant = tried.track.hindsight(share)
    runs = {other: tried.run(other, share) for other in ESTIMATORS if other != "fixed"}
    ours = runs["quantile"]
    rows = {other: _figures(found) for other, found in runs.items()}
    rivals = {n: found for n, found in runs.items() if n != "quantile"}
    equal = {n: _at_equal_drops(tried, found) for n, found in rivals.items()}
    return {
        "stream": name,
        "dratio": share,
        "hindsight_ms": round(constant / MS, 3),
        "wait_to_hindsight": round(ours.mean_wait / constant, 3),
        "bound_kept": ours.drop_share <= share,
        "worst_stretch": round(ours.worst_stretch(int(200 / share)), 5),
        "quantile_wait_at_the_drops_of": equal,
        "shortest_within_bound": all(
            ours.mean_wait <= found.mean_wait
            for found in rivals.values()
            if found.drop_share <= share
        ),
        "worst_at_equal_drops": round(
            max(equal[n] / (found.mean_wait / MS) for n, found in rivals.items()), 3
        ),
        "estimators": rows,
    }


def _at_equal_drops(tried: Tried, rival: Trial) -> float:
    """How long quantile waits if it may lose what a rival lost, and does not lose more."""
    share = rival.drop_share
    found = tried.run("quantile", share)
    while found.drop_share > rival.drop_share:
        share *= 0.9
        found = tried.run("quantile", share)
    return round(found.mean_wait / MS, 3)


def _figures(found: Trial) -> dict[str, float]:
    return {
        "drop_share": round(found.drop_share, 6),
        "mean_wait_ms": round(found.mean_wait / MS, 3),
        "p99_wait_ms": round(found.p99_wait / MS, 3),
    }

"""Kim 2011, figures 5, 6 and 7: the adaptive maximum, and a buffer from a model of the stream."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from shared import held_after, parameters, track_of, write_rows
from slackwater.core.disorder.adaptive_max import AdaptiveMax
from slackwater.core.disorder.batch import Estimator
from slackwater.core.disorder.interarrival import Interarrival
from slackwater.core.disorder.quantile import Quantile
from slackwater.core.disorder.trial import PERIOD, Track, trial

MS = 1e-3


def standing(given: dict[str, Any], sigma: float) -> Track:
    delay = {"delay": "normal", "delay_mu": given["mu"] * MS, "delay_sigma": sigma * MS}
    return track_of({"rate": given["rate"], "seed": given["seed"], **delay}, given["tuples"])


def changing(given: dict[str, Any], period: float) -> Track:
    low, high = ([limit * MS for limit in given[name]] for name in ("mu_range", "sigma_range"))
    delay = {
        "delay": "normal", "delay_changes_every": float(period), "delay_mu_low": low[0],
        "delay_mu_high": low[1], "delay_sigma_low": high[0], "delay_sigma_high": high[1],
    }  # fmt: skip
    return track_of({"rate": given["rate"], "seed": given["seed"], **delay}, given["tuples"])


def model(share: float) -> Interarrival:
    """The paper's own method, also where it would hand over to the adaptive maximum."""
    estimator = Interarrival(share)
    estimator.fallback = None
    return estimator


def measured(estimator: Estimator, track: Track) -> dict[str, float]:
    """The mean number of tuples in the buffer, looked at a hundred times, and what was lost."""
    period = min(PERIOD, estimator.tuples) if isinstance(estimator, AdaptiveMax) else PERIOD
    found = trial(estimator, track, period)
    looks = range(len(track) // 100, len(track) + 1, len(track) // 100)
    buffer = sum(held_after(track, found, look) for look in looks) / len(looks)
    return {"buffer": round(buffer, 2), "lost_percent": round(100 * found.drop_share, 4)}


def figure_5(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The adaptive maximum by W, on streams that change."""
    for period in given["periods"]:
        track = changing(given, period)
        for window in given["windows"]:
            yield {"period": period, "W": window} | measured(AdaptiveMax(window), track)


def figure_6(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What the paper's method and ours lose, by what is permitted."""
    streams = [("standing", sigma, standing(given, sigma)) for sigma in given["sigmas"]]
    streams += [("changing", period, changing(given, period)) for period in given["periods"]]
    for kind, value, track in streams:
        for share in given["shares"]:
            for method, estimator in (
                ("interarrival", model(share)),
                ("quantile", Quantile(share)),
            ):
                row = {"stream": kind, "value": value, "dratio": share, "method": method}
                yield row | measured(estimator, track)


def figure_7(given: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Buffer sizes at D = 0.1%."""
    streams = [("standing", sigma, standing(given, sigma)) for sigma in given["sigmas"]]
    streams += [("changing", period, changing(given, period)) for period in given["periods"]]
    for kind, value, track in streams:
        methods: dict[str, Estimator] = {
            "adaptive-max": AdaptiveMax(given["rate"]), "interarrival": model(0.001),
            "quantile": Quantile(0.001),
        }  # fmt: skip
        for method, estimator in methods.items():
            row = {"stream": kind, "value": value, "method": method}
            yield row | measured(estimator, track)


def main() -> None:
    given = parameters(HERE)
    for name, rows in (("5", figure_5), ("6", figure_6), ("7", figure_7)):
        write_rows(HERE / "out" / f"figure{name}.csv", list(rows(given)))


if __name__ == "__main__":
    main()

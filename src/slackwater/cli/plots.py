"""Pictures for the command line. They need the extra ``slackwater[plot]``."""

from __future__ import annotations

from typing import Any

import numpy as np

from slackwater.core.disorder.trial import Track, Trial
from slackwater.core.time import TimeDomain
from slackwater.errors import JobError

SHARES = (0.05, 0.01, 0.005, 0.001)
POINTS = 2_000


def plot_lateness(track: Track, found: Trial, domain: TimeDomain, path: str) -> None:
    """How many tuples are later than so much, and how long the engine waits as time goes by."""
    plt = _pyplot()
    unit = float(domain.per_unit)
    label = "seconds" if domain.is_timestamp else "units of the WATTR"
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    late = np.sort(track.lateness)[::-1] / unit
    picks = np.unique(np.geomspace(1, len(late), POINTS).astype(int)) - 1
    left.plot(late[picks], (picks + 1) / len(late), color="#1f5f8b")
    for share in SHARES:
        slack = track.hindsight(share) / unit
        left.plot([slack], [share], "o", color="#c0392b")
        left.annotate(f"{100 * share:g}%: {slack:.3g}", (slack, share), xytext=(6, 3),
                      textcoords="offset points")  # fmt: skip
    left.set(yscale="log", xlabel=f"later than so many {label}", ylabel="share of tuples",
             title="How late tuples are")  # fmt: skip
    at = np.linspace(0, len(track) - 1, min(POINTS, len(track))).astype(int)
    waits = found.waits[at] / unit
    right.plot(track.progress[at] / unit, np.where(np.isfinite(waits), waits, np.nan),
               color="#1f5f8b", label="quantile, DRATIO 1%")  # fmt: skip
    right.axhline(track.hindsight(0.01) / unit, color="#c0392b", ls="--",
                  label="best constant in hindsight")  # fmt: skip
    right.set(xlabel=f"WATTR since the first tuple, {label}", ylabel=f"wait, {label}",
              ylim=(0, None), title="How long the engine would have waited")  # fmt: skip
    right.legend()
    try:
        figure.savefig(path, dpi=110)
    except (OSError, ValueError) as error:
        raise JobError(f"cannot write the plot {path}: {error}") from None
    plt.close(figure)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise JobError("plots need matplotlib: pip install 'slackwater[plot]'") from None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt

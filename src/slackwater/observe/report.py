"""The account of a query: what became of every tuple, and how far the heartbeat is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from slackwater.core.intervals import Bound
from slackwater.core.stage import COUNT_NAMES, Counts
from slackwater.core.time import TimeDomain


@dataclass
class Report(Counts):
    """Running totals over all shards since the query began.

    ``input`` is every tuple seen; ``rejected`` had no usable time or lay too far in the
    future; ``filtered`` failed WHERE; ``late`` came after all its windows were final;
    ``in_no_window`` fell between windows (SLIDE larger than RANGE). All others count in finals.
    """

    heartbeat: str = "-"
    progress: str = "-"
    slack: str = "-"

    @property
    def rejected(self) -> int:
        return self.null + self.not_a_number + self.future

    @property
    def in_windows(self) -> int:
        """Tuples that count in at least one window, now or when it is closed."""
        lost = self.rejected + self.filtered + self.in_no_window + self.late
        return self.input - lost

    @property
    def drop_share(self) -> float:
        """The share of tuples that came below the heartbeat; zero where no DRATIO bounds it."""
        usable = self.input - self.rejected
        return self.below / usable if usable else 0.0

    @property
    def budget(self) -> int:
        """How many more tuples DRATIO would let go now."""
        return self.allowed - self.below


def report_of(
    counts: Iterable[Counts], heartbeat: Bound, progress: Bound, slack: float, domain: TimeDomain
) -> Report:
    """One report from the counts of all shards."""
    sums = dict.fromkeys(COUNT_NAMES, 0)
    for count in counts:
        for name in COUNT_NAMES:
            sums[name] += getattr(count, name)
    return Report(
        **sums,
        heartbeat=domain.show(heartbeat),
        progress=domain.show(progress),
        slack=domain.show_length(slack),
    )


def report_from(values: Mapping[str, Any]) -> Report:
    """One report from metrics by name, as Spark observes them."""
    found: dict[str, Any] = {name: int(values.get(name) or 0) for name in COUNT_NAMES}
    found |= {name: values[name] or "-" for name in ("heartbeat", "progress", "slack")}
    return Report(**found)

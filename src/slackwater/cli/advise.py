"""``slackwater advise``: what delay should I choose? From a file of what has already come."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from slackwater.core.disorder.interarrival import SMALLEST_BUFFER
from slackwater.core.disorder.registry import ESTIMATORS, STEERED, EstimatorPlan
from slackwater.core.disorder.trial import PERIOD, Track, Trial, trial
from slackwater.core.time import TimeDomain
from slackwater.errors import JobError

SHARES = (0.05, 0.01, 0.005, 0.001, 0.0)
SUGGESTED = 0.01
FORMATS = {".parquet": "parquet", ".csv": "csv", ".json": "json", ".jsonl": "json",
           ".ndjson": "json", ".arrow": "ipc", ".ipc": "ipc", ".feather": "feather",
           ".orc": "orc"}  # fmt: skip
Trials: TypeAlias = dict[tuple[str, float | None], Trial]
LONG = 200_000
"""From so many tuples on it takes a while, and a bar shows how far it is."""


@dataclass(frozen=True)
class Arrived:
    """The tuples of a file in the order of their arrival."""

    domain: TimeDomain
    track: Track
    has_arrival: bool
    left_out: int


def advise(path: str, wattr: str, arrival: str | None, plot: str | None) -> int:
    """Print what each estimator would have lost and waited, and draw how late tuples were."""
    arrived = read(Path(path), wattr, arrival)
    write = sys.stdout.write
    write(_opening(path, arrived))
    trials = dict(_with_bar(arrived, sys.stderr))
    write(_needed(arrived))
    for share in (*SHARES, None):
        write(_table(arrived, share, trials))
    write(_verdict(arrived, trials))
    if plot:
        from slackwater.cli.plots import plot_lateness

        plot_lateness(arrived.track, trials[("quantile", SUGGESTED)], arrived.domain, plot)
        write(f"plot: {plot}\n")
    return 0


def read(path: Path, wattr: str, arrival: str | None) -> Arrived:
    """The columns that matter, of any file that Arrow reads; rows are as they arrived."""
    columns = [wattr] if arrival is None else [wattr, arrival]
    table = _load(path, columns)
    domain, ticks, usable = _ticks(table, wattr)
    arrivals: npt.NDArray[np.int64] | npt.NDArray[np.float64] | None = None
    if arrival is not None:
        other, arrivals, known = _ticks(table, arrival)
        if (other.is_timestamp, other.per_unit) != (domain.is_timestamp, domain.per_unit):
            raise JobError(
                f"{arrival} is {other.type}, and {wattr} is {domain.type}: not one scale"
            )
        usable = usable & known
        arrivals = arrivals[usable]
    ticks = ticks[usable]
    if len(ticks) < SMALLEST_BUFFER:
        raise JobError(
            f"{path} has {len(ticks)} tuples with a usable {wattr}: at least {SMALLEST_BUFFER} "
            "are needed to say anything"
        )
    if arrivals is not None:
        order = np.argsort(arrivals, kind="stable")
        ticks, arrivals = ticks[order], arrivals[order]
    left_out = len(usable) - len(ticks)
    return Arrived(domain, Track.of(ticks, arrivals), arrivals is not None, left_out)


def _load(path: Path, columns: Sequence[str]) -> pa.Table:
    format_ = FORMATS.get(path.suffix.lower())
    if not path.exists():
        raise JobError(f"there is no file {path}")
    if format_ is None:
        raise JobError(f"{path}: the name must end in one of {', '.join(FORMATS)}")
    try:
        dataset = ds.dataset(path, format=format_)
    except (FileNotFoundError, OSError, pa.ArrowException) as error:
        raise JobError(f"cannot read {path}: {str(error).splitlines()[0]}") from None
    for column in columns:
        if column not in dataset.schema.names:
            raise JobError(
                f"{path} has no column {column!r}; it has {', '.join(dataset.schema.names)}"
            )
    try:
        return dataset.to_table(columns=list(dict.fromkeys(columns)))
    except (OSError, pa.ArrowException) as error:
        raise JobError(f"cannot read {path}: {str(error).splitlines()[0]}") from None


def _ticks(
    table: pa.Table, name: str
) -> tuple[TimeDomain, npt.NDArray[np.int64] | npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    column = table.column(name).combine_chunks()
    if pa.types.is_string(column.type):
        try:
            column = column.cast(pa.timestamp("us"))
        except pa.ArrowException as error:
            raise JobError(f"column {name!r} is text, and no timestamp: {error}") from None
    if not TimeDomain.supports(column.type):
        raise JobError(f"column {name!r} is {column.type}: a timestamp or a number is needed")
    domain = TimeDomain(column.type)
    if isinstance(column, pa.ChunkedArray):
        column = pc.cast(column, column.type).combine_chunks()
    return domain, *domain.ticks(column)


def _runs(arrived: Arrived) -> Iterator[tuple[str, float | None]]:
    """Each estimator that fits the stream, at each share if DRATIO steers it."""
    for name, cls in ESTIMATORS.items():
        fits = arrived.has_arrival or not cls.needs_arrival
        if name == "fixed" or not fits or (name == "p95" and not arrived.domain.is_timestamp):
            continue
        yield from ((name, share) for share in (SHARES if name in STEERED else (None,)))


def _with_bar(arrived: Arrived, out: TextIO) -> Iterator[tuple[tuple[str, float | None], Trial]]:
    runs = list(_runs(arrived))
    period = max(1, min(PERIOD, len(arrived.track) // PERIOD))
    for done, (name, share) in enumerate(runs):
        if len(arrived.track) >= LONG and out.isatty():
            bar = "#" * (30 * done // len(runs))
            out.write(f"\r[{bar:<30}] {name}          ")
            out.flush()
        plan = EstimatorPlan(name, share or 0.0, per_second=float(arrived.domain.per_unit))
        yield (name, share), trial(plan.build(), arrived.track, period)
    if len(arrived.track) >= LONG and out.isatty():
        out.write("\r" + " " * 70 + "\r")


def _opening(path: str, arrived: Arrived) -> str:
    track = arrived.track
    text = f"{path}: {len(track):,} tuples in the order "
    text += "of arrival" if arrived.has_arrival else "of the file, taken as that of arrival"
    if arrived.left_out:
        text += f"; {arrived.left_out:,} more have no usable time and are left out"
    late = int((track.lateness > 0).sum())
    return f"{text}\n{late:,} of them ({late / len(track):.1%}) came after a later one\n\n"


def _needed(arrived: Arrived) -> str:
    """The best constant for each share, known only now."""
    lines = ["to lose no more than    a constant SLACK would have had to be"]
    for share in SHARES:
        slack = arrived.domain.show_length(arrived.track.hindsight(share))
        lines.append(f"  {_percent(share):<22}{slack}")
    return "\n".join(lines) + "\n"


def _table(arrived: Arrived, share: float | None, trials: Trials) -> str:
    title = "without DRATIO" if share is None else f"DRATIO {_percent(share)}"
    lines = [f"\n{title:<21}{'lost':>9}  {'mean wait':>12}  {'99% wait':>12}"]
    for (name, of), found in trials.items():
        if of == share:
            show = arrived.domain.show_length
            waits = f"{show(_short(found.mean_wait)):>12}  {show(_short(found.p99_wait)):>12}"
            lines.append(f"  {name:<19}{found.drop_share:>9.3%}  {waits}")
    return "\n".join(lines) + "\n"


def _verdict(arrived: Arrived, trials: Trials) -> str:
    show, found = arrived.domain.show_length, trials[("quantile", SUGGESTED)]
    constant = show(_short(arrived.track.hindsight(SUGGESTED)))
    if found.drop_share > 2 * SUGGESTED:
        lost = f"{found.drop_share:.1%} would have been lost"
        return (
            f"\nDRATIO {_percent(SUGGESTED)} cannot be kept here: {lost}.\n"
            "Is the file in the order of arrival? If not, name the column that is: "
            "--arrival COLUMN.\n"
        )
    return (
        f"\nWith DRATIO {_percent(SUGGESTED)} the engine would have lost {found.drop_share:.3%} "
        f"and waited {show(_short(found.mean_wait))} in the mean, with nothing to set.\n"
        f"A constant that loses {_percent(SUGGESTED)}: SLACK {constant}, if the stream stays as "
        "it was.\n"
    )


def _percent(share: float) -> str:
    return f"{100 * share:g}%"


def _short(ticks: float) -> float:
    """Four digits are enough for people."""
    return float(f"{ticks:.4g}")

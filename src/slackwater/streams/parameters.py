"""What a disordered stream is made of: its options, their defaults and what goes together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from slackwater.core.time import MICROS_PER_SECOND
from slackwater.errors import JobError
from slackwater.streams.options import Choice, Number, check_options, option

START_2026 = 1_767_225_600 * MICROS_PER_SECOND
PEAK_RATE = 1_000_000.0
PEAK_DENSE_RATE = 32_768.0

_SMALLEST = 1e-6
_AMOUNT = Number(least=0.0, most=1e9)
_PERIOD = Number(least=0.01, most=1e9, off=True)

# which options each distribution reads
VALUES: dict[str, tuple[str, ...]] = {
    "uniform": ("value_low", "value_high"),
    "normal": ("value_mean", "value_sd"),
    "counter": (),
    "constant": ("value_mean",),
}
DELAYS: dict[str, tuple[str, ...]] = {
    "none": (),
    "constant": ("delay_mean",),
    "uniform": ("delay_bound",),
    "exponential": ("delay_mean",),
    "normal": ("delay_mu", "delay_sigma"),
    "lognormal": ("delay_mu", "delay_sigma"),
    "pareto": ("delay_scale", "delay_shape"),
}
_CHANGING = ("delay_mu_low", "delay_mu_high", "delay_sigma_low", "delay_sigma_high")


@dataclass(frozen=True)
class Parameters:
    """The options of a stream. Times are in seconds, except ``start``.

    A burst of ``burst_length`` ends each period of ``burst_every``. With ``density`` the
    timestamps are whole seconds, and after each tuple the next has the same one with that
    probability, so that a second holds 1 / (1 - density) tuples in the mean (Bhat 2011).
    With ``delay_changes_every`` each period draws its own mu and sigma from the ranges
    ``delay_mu_low..delay_mu_high`` and ``delay_sigma_low..delay_sigma_high``.
    """

    rate: float = option(1000.0, Number(least=_SMALLEST, most=PEAK_RATE))
    spacing: str = option("even", Choice(("even", "poisson")))
    density: float = option(0.0, Number(least=0.0, most=1 - 1 / PEAK_DENSE_RATE))
    burst_every: float = option(0.0, _PERIOD)
    burst_length: float = option(1.0, Number(least=0.001, most=1e9))
    burst_factor: float = option(10.0, Number(least=0.001, most=PEAK_RATE))
    keys: int = option(10, Number(least=1, most=10_000_000, whole=True))
    key_skew: float = option(0.0, Number(least=0.0, most=100.0))
    key_type: str = option("bigint", Choice(("bigint", "string")))
    value: str = option("uniform", Choice(tuple(VALUES)))
    value_low: float = option(0.0, Number(least=-1e300, most=1e300))
    value_high: float = option(1.0, Number(least=-1e300, most=1e300))
    value_mean: float = option(0.0, Number(least=-1e300, most=1e300))
    value_sd: float = option(1.0, Number(least=0.0, most=1e300))
    delay: str = option("none", Choice(tuple(DELAYS)))
    delay_mean: float = option(1.0, _AMOUNT)
    delay_bound: float = option(5.0, _AMOUNT)
    delay_mu: float = option(1.0, Number(least=-1e9, most=1e9))
    delay_sigma: float = option(0.5, _AMOUNT)
    delay_scale: float = option(0.1, _AMOUNT)
    delay_shape: float = option(1.5, Number(least=0.01, most=1e6))
    delay_changes_every: float = option(0.0, _PERIOD)
    delay_mu_low: float = option(0.0, Number(least=-1e9, most=1e9))
    delay_mu_high: float = option(6.0, Number(least=-1e9, most=1e9))
    delay_sigma_low: float = option(0.0, _AMOUNT)
    delay_sigma_high: float = option(5.0, _AMOUNT)
    max_delay: float = option(60.0, Number(least=0.0, most=86_400.0))
    start: int = option(START_2026, Number(least=-(2.0**61), most=2.0**61, whole=True))
    seed: int = option(0, Number(least=0, most=2**32 - 1, whole=True))

    def __post_init__(self) -> None:
        check_options(self)
        self._check_bursts()
        self._check_ranges()
        if self.value == "counter" and (self.density or self.spacing != "even"):
            raise JobError(
                "option value = 'counter' is refused: a running count needs a count that is the "
                "same for every seed; allowed is spacing = 'even' without density"
            )
        if self.delay_changes_every and "delay_mu" not in DELAYS[self.delay]:
            raise JobError(
                f"option delay_changes_every = {self.delay_changes_every:g} is refused with "
                f"delay = {self.delay!r}: allowed is delay = 'normal' or 'lognormal'"
            )

    @property
    def mean_rate(self) -> float:
        """Tuples per second of event time, outside bursts."""
        return 1 / (1 - self.density) if self.density else self.rate

    @property
    def longest_delay_us(self) -> int:
        """No tuple is delayed longer; so far back ``between`` has to look."""
        bounds = {"none": 0.0, "constant": self.delay_mean, "uniform": self.delay_bound}
        longest = min(self.max_delay, bounds.get(self.delay, self.max_delay))
        return round(longest * MICROS_PER_SECOND)

    def check_used(self, given: Iterable[str]) -> None:
        """Refuses options of a distribution other than the one chosen."""
        delays = set(DELAYS[self.delay])
        if self.delay_changes_every:
            delays = {"delay_changes_every", *_CHANGING}
        for group, chosen, used in (
            ("value", self.value, set(VALUES[self.value])),
            ("delay", self.delay, delays | {"delay_changes_every"}),
        ):
            for name in given:
                if name.startswith(f"{group}_") and name not in used:
                    raise JobError(
                        f"option {name} = {str(getattr(self, name))!r} has no effect with {group} "
                        f"= {chosen!r}: allowed are {', '.join(sorted(used)) or 'none'}"
                    )

    def _check_bursts(self) -> None:
        if self.burst_every and self.burst_length > self.burst_every:
            raise JobError(
                f"option burst_length = {self.burst_length:g} is refused: allowed is at most "
                f"burst_every = {self.burst_every:g}"
            )
        factor = max(1.0, self.burst_factor) if self.burst_every else 1.0
        most = PEAK_DENSE_RATE if self.density else PEAK_RATE
        if self.mean_rate * factor > most * (1 + 1e-9):
            raise JobError(
                f"option burst_factor = {factor:g} is refused with {self.mean_rate:g} tuples per "
                f"second: allowed are at most {most:g} tuples per second in a burst"
            )

    def _check_ranges(self) -> None:
        for low, high in (
            ("value_low", "value_high"),
            ("delay_mu_low", "delay_mu_high"),
            ("delay_sigma_low", "delay_sigma_high"),
        ):
            if getattr(self, low) > getattr(self, high):
                raise JobError(
                    f"option {low} = {getattr(self, low):g} is refused: allowed is at most "
                    f"{high} = {getattr(self, high):g}"
                )

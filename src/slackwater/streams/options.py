"""Options of a frozen dataclass: each field carries the rule that says what it may be.

The same rule reads a text (from Spark or a job file) and checks a value given in Python,
so both are refused with the same message. Imports nothing but the errors.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from slackwater.errors import JobError


class Rule(Protocol):
    """What one option may be."""

    def read(self, text: str) -> Any:
        """The value that a text means; ValueError if it means none."""

    def allows(self, value: Any) -> bool: ...

    def allowed(self) -> str:
        """What is allowed, as the end of a sentence."""


@dataclass(frozen=True)
class Number:
    """A number in a range. ``off`` lets 0 stand for "not used" beside the range."""

    least: float = -math.inf
    most: float = math.inf
    whole: bool = False
    off: bool = False

    def read(self, text: str) -> int | float:
        return int(text) if self.whole else float(text)

    def allows(self, value: Any) -> bool:
        kinds = (int,) if self.whole else (int, float)
        if isinstance(value, bool) or not isinstance(value, kinds) or not math.isfinite(value):
            return False
        return self.least <= value <= self.most or (self.off and value == 0)

    def allowed(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        bounds = {"from": self.least, "to": self.most}
        limits = [f"{word} {bound:.15g}" for word, bound in bounds.items() if math.isfinite(bound)]
        return " ".join([kind, *limits]) + (", or 0 for off" if self.off else "")


@dataclass(frozen=True)
class Choice:
    """One of a few names."""

    names: tuple[str, ...]

    def read(self, text: str) -> str:
        return text.strip().lower()

    def allows(self, value: Any) -> bool:
        return value in self.names

    def allowed(self) -> str:
        return "one of " + ", ".join(self.names)


def option(default: Any, rule: Rule) -> Any:
    """A dataclass field with its rule."""
    return field(default=default, metadata={"rule": rule})


def option_names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls))


def reject_unknown(given: Iterable[str], known: Iterable[str]) -> None:
    """Refuses names that are not options, with the nearest one that is."""
    names = sorted(known)
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise JobError(f"unknown option {name!r}: {hint}allowed are {', '.join(names)}")


def read_options(cls: type[Any], given: Mapping[str, str]) -> dict[str, Any]:
    """The values that texts mean, by the rules of the class's fields."""
    reject_unknown(given, option_names(cls))
    rules: dict[str, Rule] = {f.name: f.metadata["rule"] for f in fields(cls)}
    values = {}
    for name, text in given.items():
        try:
            values[name] = rules[name].read(str(text))
        except ValueError:
            raise _refused(name, text, rules[name]) from None
    return values


def check_options(instance: Any) -> None:
    """Refuses the first field whose value its rule does not allow."""
    for f in fields(instance):
        value = getattr(instance, f.name)
        if not f.metadata["rule"].allows(value):
            raise _refused(f.name, value, f.metadata["rule"])


def _refused(name: str, value: Any, rule: Rule) -> JobError:
    return JobError(f"option {name} = {str(value)!r} is refused: allowed is {rule.allowed()}")

"""The same queries without writing SQL: each method adds one clause."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Query:
    """A window query under construction; ``str`` gives its CQL.

    >>> print(stream("S").window(range="60 seconds", slide="1 second", slack="5 seconds")
    ...       .where("volume > 0").group_by("sensor").select(v="SUM(volume)"))
    SELECT sensor, SUM(volume) AS v
    FROM S [RANGE 60 seconds, SLIDE 1 second, SLACK 5 seconds]
    WHERE volume > 0
    GROUP BY sensor
    """

    source: str
    clause: str = ""
    items: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    having_conditions: tuple[str, ...] = ()

    def window(
        self, *, range: str | int, slide: str | int | None = None, wattr: str = "",
        slack: str | int | None = None, dratio: str | None = None, estimator: str | None = None,
        arrival: str | None = None, max_future: str | int | None = None,
        revise_within: str | int | None = None, partition_by: str | None = None,
    ) -> Query:  # fmt: skip
        """The window: lengths are written as in CQL, ``"60 seconds"`` or a number.

        Without ``slide`` it slides on every tuple; ``dratio`` is a percentage, ``"1%"``.
        """
        given = {
            "RANGE": range, "SLIDE": slide, "WATTR": wattr or None, "SLACK": slack,
            "DRATIO": dratio, "ESTIMATOR": estimator, "ARRIVAL": arrival,
            "MAX FUTURE": max_future, "REVISE WITHIN": revise_within,
            "PARTITION BY": partition_by,
        }  # fmt: skip
        items = [f"{name} {value}" for name, value in given.items() if value is not None]
        return replace(self, clause=f" [{', '.join(items)}]")

    def where(self, condition: str) -> Query:
        return replace(self, conditions=(*self.conditions, condition))

    def group_by(self, *keys: str) -> Query:
        return replace(self, keys=(*self.keys, *keys))

    def select(self, **columns: str) -> Query:
        """Result columns: a name and an expression over aggregates each."""
        items = tuple(f"{expression} AS {name}" for name, expression in columns.items())
        return replace(self, items=(*self.items, *items))

    def having(self, condition: str) -> Query:
        return replace(self, having_conditions=(*self.having_conditions, condition))

    def __str__(self) -> str:
        lines = [
            f"SELECT {', '.join((*self.keys, *self.items))}",
            f"FROM {self.source}{self.clause}",
        ]
        if self.conditions:
            lines.append(f"WHERE {_all(self.conditions)}")
        if self.keys:
            lines.append(f"GROUP BY {', '.join(self.keys)}")
        if self.having_conditions:
            lines.append(f"HAVING {_all(self.having_conditions)}")
        return "\n".join(lines)


def stream(name: str | Query) -> Query:
    """A query over a stream by name, or over the results of another query."""
    return Query(f"(\n{name}\n)" if isinstance(name, Query) else name)


def _all(conditions: tuple[str, ...]) -> str:
    if len(conditions) == 1:
        return conditions[0]
    return " AND ".join(f"({condition})" for condition in conditions)

"""A naive set of half-open intervals: a list of pairs, asked by walking along it.

For tests and for clarity; the standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

Bound: TypeAlias = int | float
Pair: TypeAlias = tuple[Bound, Bound]


def contains(pairs: Iterable[Pair], point: Bound) -> bool:
    """Whether a point lies in any of the intervals ``[low, high)``.

    >>> contains([(0, 5), (9, 12)], 5)
    False
    """
    return any(low <= point < high for low, high in pairs)


def covers(pairs: Iterable[Pair], low: Bound, high: Bound) -> bool:
    """Whether the intervals together hold all of ``[low, high)``: step from end to end.

    >>> covers([(5, 9), (0, 5)], 1, 8)
    True
    """
    known = list(pairs)
    at = low
    while at < high:
        ends = [end for start, end in known if start <= at < end]
        if not ends:
            return False
        at = max(ends)
    return True

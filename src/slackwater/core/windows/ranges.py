"""Aggregates over many overlapping ranges of rows: the dyadic roll-up over tuples.

Rows are merged pairwise into nodes of 2, 4, 8 … rows; a range is the merge of at most two
nodes a level. It needs no more of an aggregate than ``merge``, so no sum is ever taken
back out of a running total and loses digits on the way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from slackwater.core.grouping import Groups
from slackwater.core.windows.layout import Aggregation

Rows = npt.NDArray[np.int64]


def merged_ranges(
    aggregation: Aggregation, partials: Sequence[pa.Array], starts: Rows, ends: Rows
) -> list[pa.Array]:
    """The partial columns of each range ``start .. end-1``, none of them empty."""
    ids: list[Rows] = []
    picks: list[Sequence[pa.Array]] = []
    everyone = np.arange(len(starts))
    low, high, level = starts.copy(), ends.copy(), list(partials)
    while True:
        left = (low < high) & (low & 1 == 1)
        ids.append(everyone[left])
        picks.append([column.take(pa.array(low[left])) for column in level])
        low = low + left
        right = (low < high) & (high & 1 == 1)
        high = high - right
        ids.append(everyone[right])
        picks.append([column.take(pa.array(high[right])) for column in level])
        low, high = low >> 1, high >> 1
        if not (low < high).any():
            break
        level = _paired(aggregation, level)
    codes = np.concatenate(ids)
    columns = [pa.concat_arrays(parts) for parts in zip(*picks, strict=True)]
    sizes = np.bincount(codes, minlength=len(starts))
    return aggregation.merge_groups(Groups(codes, len(starts), sizes), columns)


def _paired(aggregation: Aggregation, level: Sequence[pa.Array]) -> list[pa.Array]:
    """The next level: each two neighbours merged, a last one without a partner alone."""
    rows = len(level[0]) if level else 0
    codes = np.arange(rows) >> 1
    count = (rows + 1) >> 1
    return aggregation.merge_groups(Groups(codes, count, np.bincount(codes)), level)

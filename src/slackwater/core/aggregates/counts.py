"""COUNT(*) and COUNT(x)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa

from slackwater.core.aggregates.base import Aggregate
from slackwater.core.grouping import Groups
from slackwater.core.time import valid_rows


@dataclass(frozen=True)
class Count(Aggregate):
    """How many tuples; with an argument, how many where it is not null."""

    function: ClassVar[str] = "COUNT"
    invertible: ClassVar[bool] = True

    @property
    def partial_types(self) -> tuple[pa.DataType, ...]:
        return (pa.int64(),)

    @property
    def result_type(self) -> pa.DataType:
        return pa.int64()

    def lift(self, groups: Groups, inputs: Sequence[pa.Array]) -> list[pa.Array]:
        if not inputs or inputs[0].null_count == 0:
            return [pa.array(groups.sizes)]
        return [pa.array(groups.where(valid_rows(inputs[0])).sizes)]

    def merge(self, groups: Groups, partials: Sequence[pa.Array]) -> list[pa.Array]:
        return [pa.array(groups.total(np.asarray(partials[0])))]

    def finish(self, partials: Sequence[pa.Array]) -> pa.Array:
        return partials[0]

"""What a plan needs to ask of its host: the types of value expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import pyarrow as pa


class Typer(Protocol):
    """A host's answer to: what types do these expressions have over these columns?"""

    def __call__(self, schema: pa.Schema, expressions: Sequence[str]) -> list[pa.DataType]: ...


class ExpressionError(Exception):
    """What a typer raises: expression number ``place`` cannot be evaluated."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place, self.reason = place, reason

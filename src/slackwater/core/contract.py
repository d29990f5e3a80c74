"""The contract between operators and hosts.

A host opens an operator over its cells, hands it pages, prods and punctuations in that
order within a micro-batch, and passes on what comes out. Nothing here knows which host.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from slackwater.core.elements import Element, Page, Prod, Punctuation
from slackwater.core.state import State


@dataclass(frozen=True)
class Context:
    """Where an operator runs: which shard of how many."""

    shard: int = 0
    shards: int = 1


class Operator(Protocol):
    """``open`` once a batch, then ``process``*, ``settle``, ``prod``*, ``advance``*, ``flush``."""

    def open(self, state: State, context: Context) -> None: ...
    def process(self, page: Page) -> Iterable[Element]: ...
    def settle(self) -> Iterable[Element]: ...
    def prod(self, prod: Prod) -> Iterable[Element]: ...
    def advance(self, punctuation: Punctuation) -> Iterable[Element]: ...
    def flush(self) -> None: ...

"""Which operator runs a layout: panes where windows share them, raw tuples where they cannot."""

from __future__ import annotations

from typing import TypeAlias

from slackwater.core.windows.aggregate import WindowAggregate
from slackwater.core.windows.layout import Layout
from slackwater.core.windows.raw import RawLayout, RawWindows

AnyLayout: TypeAlias = Layout | RawLayout


def operator_of(layout: AnyLayout) -> WindowAggregate | RawWindows:
    """A new operator, still to be opened."""
    return RawWindows(layout) if isinstance(layout, RawLayout) else WindowAggregate(layout)

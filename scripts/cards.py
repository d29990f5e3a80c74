"""Makes the pages of docs/ that are taken from the code: operators.md and cli.md.

Run ``python scripts/cards.py`` after changing an aggregate, an operator or a command. A
test compares the pages with what this makes.
"""

from __future__ import annotations

import inspect
import os
import re
from argparse import ArgumentParser, _SubParsersAction
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from slackwater.cli.main import parser
from slackwater.core.aggregates import AGGREGATES, make
from slackwater.core.aggregates.base import Aggregate
from slackwater.core.disorder.control import DisorderControl
from slackwater.core.disorder.registry import ESTIMATORS
from slackwater.core.windows.aggregate import WindowAggregate
from slackwater.core.windows.bucket import Ingest
from slackwater.core.windows.panelog import PaneLog
from slackwater.core.windows.raw import RawWindows
from slackwater.core.windows.slots import SlackBuffer
from slackwater.cql.types import type_name

DOCS = Path(__file__).parents[1] / "docs"
OPERATORS = (Ingest, WindowAggregate, PaneLog, RawWindows, SlackBuffer, DisorderControl)
FACTS = ("Needs", "Time", "Space", "From")
SAMPLES = {
    "integers": pa.int32(),
    "floating point": pa.float64(),
    "decimals": pa.decimal128(10, 2),
    "text": pa.string(),
    "timestamps": pa.timestamp("us", "UTC"),
    "booleans": pa.bool_(),
    "arrays": pa.list_(pa.int32()),
}
NOTE = "<!-- Made by scripts/cards.py. Change the code, then run it again. -->\n"


def operators_page() -> str:
    """Cards of operators and aggregates, from class attributes and docstrings."""
    parts = ["# Operators and aggregates\n", NOTE, _OPENING, "## Operators\n"]
    parts += [_operator_card(cls) for cls in OPERATORS]
    parts += ["## Estimators\n", _ESTIMATORS]
    parts += [_operator_card(cls) for cls in ESTIMATORS.values()]
    parts += ["## Aggregates\n", _AGGREGATES]
    parts += [_aggregate_card(name, cls) for name, cls in AGGREGATES.items()]
    return "\n".join(parts)


def _operator_card(cls: type) -> str:
    """A heading, the first sentence of the docstring, and its facts as a table."""
    text = inspect.getdoc(cls) or ""
    facts = dict(re.findall(rf"^({'|'.join(FACTS)}): (.*)$", text, re.M))
    rows = [("Where", f"`{cls.__module__}`"), *((name, facts[name]) for name in FACTS)]
    return f"### {cls.__name__}\n\n{_first(text)}\n{_table(rows)}"


def _aggregate_card(name: str, cls: type[Aggregate]) -> str:
    accepted = dict(_accepted(name, cls))
    rows = [("Arguments", _arguments(cls))]
    results = {_result(made) for made in accepted.values()}
    shown = ", ".join(f"{kind}: {_result(made)}" for kind, made in accepted.items())
    rows.append(("Takes", ", ".join(accepted) if len(accepted) < len(SAMPLES) else "anything"))
    rows.append(("Gives", results.pop() if len(results) == 1 else shown))
    rows.append(("Partial", "; ".join(_partials(accepted))))
    rows.append(("Can be taken out of a merge", "yes" if cls.invertible else "no"))
    rows.append(("Exact", "no" if cls.approximate else "yes"))
    return f"### {name}\n\n{_first(inspect.getdoc(cls) or '')}\n{_table(rows)}"


def _accepted(name: str, cls: type[Aggregate]) -> Iterator[tuple[str, Aggregate]]:
    """The aggregate over each kind of value that it takes."""
    for kind, type_ in SAMPLES.items():
        inputs = [type_] * cls.arity
        if cls.check(inputs) is None:
            yield kind, make(name, inputs, pa.int64(), (0.5,) * cls.constants_needed)


def _arguments(cls: type[Aggregate]) -> str:
    count = "none or 1" if cls.function == "COUNT" else str(cls.arity)
    return f"{count}, and the tuple's WATTR" if cls.uses_time else count


def _result(made: Aggregate) -> str:
    return type_name(made.result_type)


def _partials(accepted: dict[str, Aggregate]) -> Iterator[str]:
    """How wide the partial is, once for all kinds of values where it is the same."""
    widths: dict[int, list[str]] = {}
    for kind, made in accepted.items():
        widths.setdefault(len(made.partial_types), []).append(kind)
    for width, kinds in widths.items():
        columns = f"{width} column{'s' if width > 1 else ''}"
        yield columns if len(widths) == 1 else f"{columns} for {', '.join(kinds)}"


def _first(text: str) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join(text.split("\n\n")[0].split()) + "\n"


def _table(rows: list[tuple[str, str]]) -> str:
    return "\n".join(["| | |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows), ""])


def cli_page() -> str:
    """The help of every command, as a terminal of 80 columns shows it."""
    os.environ["COLUMNS"] = "80"
    top = parser()
    parts = ["# Command line\n", NOTE, _CLI, _help("slackwater", top)]
    parts += [_help(f"slackwater {name}", command) for name, command in _commands(top)]
    return "\n".join(parts)


def _commands(top: ArgumentParser) -> Iterator[tuple[str, ArgumentParser]]:
    for action in top._actions:
        if isinstance(action, _SubParsersAction):
            yield from action.choices.items()


def _help(name: str, command: ArgumentParser) -> str:
    return f"## {name}\n\n```text\n{command.format_help()}```\n"


_OPENING = """\
What each part needs, costs, and where it comes from. A *row* is one partial: group
columns, a count of tuples, and each aggregate's partial columns. Words are those of the
[glossary](glossary.md).
"""
_ESTIMATORS = """\
What turns the lateness seen so far into a slack. All run in the same controller; a query
picks one by the name in [the reference](cql.md#estimators). Space is for each shard.
"""
_AGGREGATES = """\
Every aggregate is lifted from a page in one vectorised pass, and merged in one pass over
partials, in any order and along any tree. *Partial* is what one group costs in one pane.
How to write them, and what nulls do, is in [the reference](cql.md#aggregates).
"""
_CLI = """\
Exit status: 0 if all went well, 1 if a check or a smoke run failed, 2 if the request
made no sense (the message says why). Ctrl-C stops a job and keeps its checkpoint.
"""

PAGES: dict[str, Callable[[], str]] = {"operators.md": operators_page, "cli.md": cli_page}

if __name__ == "__main__":
    for page, made in PAGES.items():
        (DOCS / page).write_text(made())

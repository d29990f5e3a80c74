"""The pages of the documentation as blocks that can be run.

A block is a fence of code. HTML comments on the lines before it say more:

- ``spark``: needs a session, which it finds as ``spark``
- ``output``: what the block before prints, or the message with which it is refused
- ``file: NAME``: is also written to a file of that name, for later blocks
- ``streams: S: ts timestamp, v double``: the stream of a query, ``external streams: …``
  where its heartbeats come from outside
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import slackwater as sw
from slackwater.cli.main import main

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
_BLOCK = re.compile(
    r"(?P<marks>(?:^<!--.*?-->\n)*)^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S
)
_MARK = re.compile(r"<!--\s*(.*?)\s*-->")


@dataclass(frozen=True)
class Block:
    """A fence of code: where it stands, what it says, and what must come out of it."""

    page: Path
    line: int
    language: str
    text: str
    marks: tuple[str, ...]
    output: str | None = None

    @property
    def id(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def on_spark(self) -> bool:
        return "spark" in self.marks

    def mark(self, name: str) -> str | None:
        """What follows a mark's name and colon."""
        starts = (mark.removeprefix(f"{name}:") for mark in self.marks if mark.startswith(name))
        return next((start.strip() for start in starts), None)

    @property
    def streams(self) -> dict[str, str]:
        return _streams(self.mark("streams") or self.mark("external streams") or "")

    @property
    def external(self) -> bool:
        return self.mark("external streams") is not None


def _streams(text: str) -> dict[str, str]:
    named = (each.partition(":") for each in text.split(";") if each.strip())
    return {name.strip(): columns.strip() for name, _, columns in named}


@cache
def blocks(page: Path) -> tuple[Block, ...]:
    """The blocks of a page, an output block joined to the one before it."""
    found: list[Block] = []
    content = page.read_text()
    for match in _BLOCK.finditer(content):
        marks = tuple(_MARK.findall(match["marks"]))
        if "output" in marks:
            last = found.pop()
            found.append(Block(*_parts(last), output=match["text"]))
            continue
        line = content.count("\n", 0, match.start("language")) + 1
        found.append(Block(page, line, match["language"], match["text"], marks))
    return tuple(found)


def _parts(block: Block) -> tuple[Any, ...]:
    return block.page, block.line, block.language, block.text, block.marks


def blocks_in(language: str) -> list[Block]:
    """All blocks of a language, on every page."""
    return [block for page in PAGES for block in blocks(page) if block.language == language]


def run_page(page: Path, folder: Path, names: Mapping[str, Any]) -> Iterator[tuple[Block, str]]:
    """Run a page's blocks in order, in one namespace; yields what each printed.

    Without ``spark`` among the names the blocks that need it are left out.
    """
    namespace: dict[str, Any] = {"__name__": page.stem, **names}
    runners: dict[str, Callable[[Block], str]] = {
        "python": lambda block: _python(block, namespace),
        "sh": _commands,
        "sql": _refusal,
    }
    for block in blocks(page):
        name = block.mark("file")
        if name is not None:
            (folder / name).write_text(block.text)
        if block.on_spark and "spark" not in names:
            continue
        if block.language == "python" or (block.language in runners and block.output is not None):
            yield block, runners[block.language](block)


def _python(block: Block, namespace: dict[str, Any]) -> str:
    # empty lines in front: a traceback then points at the page's own line
    code = compile("\n" * block.line + block.text, str(block.page), "exec")
    return _printed(lambda: exec(code, namespace))


def _commands(block: Block) -> str:
    text = block.text.replace("\\\n", " ")
    return _printed(lambda: [main(shlex.split(line)[1:]) for line in text.splitlines()])


def _printed(action: Callable[[], Any]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        action()
    return out.getvalue()


def _refusal(block: Block) -> str:
    """The message with which a query is refused; nothing if it is accepted."""
    try:
        sw.explain(block.text, block.streams, external_heartbeats=block.external)
    except sw.QueryError as error:
        return f"{error}\n"
    return ""

"""The control directory: how a user, or another program, talks to a running query.

Writing is plain files, so any process that may write the directory may steer the query
and nobody else; there is no port. Readers are hosts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from slackwater.core.elements import Predicate
from slackwater.core.envelope import Kind, written_payload
from slackwater.errors import JobError


class Control:
    """Gives heartbeats and punctuations to a query, from outside.

    >>> import tempfile
    >>> control = Control(tempfile.mkdtemp())
    >>> control.heartbeat("S", 10)
    >>> sequence_end(control.directory, 0)
    1
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)

    def heartbeat(self, stream: str, value: Any) -> None:
        """No later tuple of the stream is below ``value``."""
        self.punctuate(stream, Predicate.below(value))

    def punctuate(
        self, stream: str, time: Predicate, groups: Mapping[str, Predicate] | None = None
    ) -> None:
        """No later tuple of the stream matches, on the WATTR and on group columns."""
        self._write(stream, Kind.PUNCTUATION, written_payload(time, groups or {}))

    def prod(
        self, stream: str, time: Predicate, groups: Mapping[str, Predicate] | None = None
    ) -> None:
        """Results are wanted now, for what matches on the WATTR and on group columns."""
        self._write(stream, Kind.PROD, written_payload(time, groups or {}))

    def _write(self, stream: str, kind: Kind, payload: bytes) -> None:
        entry = {"stream": stream, "kind": int(kind), "payload": payload.decode()}
        draft = self.directory / f".draft-{os.getpid()}-{id(entry)}"
        draft.write_text(json.dumps(entry))
        number = sequence_end(self.directory, 0)
        while True:
            try:
                os.link(draft, self.directory / f"{number:012d}.json")
                break
            except FileExistsError:
                number += 1
        draft.unlink()


def sequence_end(directory: Path, start: int) -> int:
    """The number after the last entry, counting on from ``start`` without a gap."""
    numbers = {int(path.stem) for path in directory.glob("*.json")}
    while start in numbers:
        start += 1
    return start


def read_entries(directory: Path, start: int, end: int) -> Iterator[tuple[str, int, bytes]]:
    """Stream, kind and payload of the entries ``start .. end-1``."""
    for number in range(start, end):
        path = directory / f"{number:012d}.json"
        try:
            entry = json.loads(path.read_text())
        except FileNotFoundError:
            raise JobError(f"{path} is gone: a query still needs it to restart") from None
        yield entry["stream"], entry["kind"], entry["payload"].encode()

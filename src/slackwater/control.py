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
from slackwater.core.envelope import Kind, tick_payload, written_payload
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
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise JobError(f"{directory} cannot be a control directory: {error}") from None

    def heartbeat(self, stream: str, value: Any) -> None:
        """No later tuple of the stream is below ``value``."""
        self.punctuate(stream, heartbeat_predicate(value))

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

    def tick(self, stream: str, now: Any) -> None:
        """A moment on the clock of the stream's arrivals, so that time goes on without tuples."""
        self._write(stream, Kind.TICK, tick_payload(now))

    def _write(self, stream: str, kind: Kind, payload: bytes) -> None:
        entry = {"stream": stream, "kind": int(kind), "payload": payload.decode()}
        draft = self.directory / f".draft-{os.getpid()}-{id(entry)}"
        draft.write_text(json.dumps(entry))
        number = max(_numbers(self.directory), default=-1) + 1
        try:
            while not self._placed(draft, number):
                number += 1
        finally:
            draft.unlink()

    def _placed(self, draft: Path, number: int) -> bool:
        """Whether the number was free; a link, unlike a rename, never replaces a file."""
        try:
            os.link(draft, self.directory / f"{number:012d}.json")
        except FileExistsError:
            return False
        return True


def heartbeat_predicate(value: Any) -> Predicate:
    """What a heartbeat closes; a missing value would close everything, so it is refused."""
    if value is None or isinstance(value, bool) or value != value:
        raise JobError(f"a heartbeat is a value of the WATTR, not {value!r}")
    return Predicate.below(value)


def _numbers(directory: Path) -> set[int]:
    return {int(path.stem) for path in directory.glob("*.json") if path.stem.isdecimal()}


def sequence_end(directory: Path, start: int) -> int:
    """The number after the last entry, counting on from ``start`` without a gap."""
    numbers = _numbers(directory)
    while start in numbers:
        start += 1
    return start


def read_entries(directory: Path, start: int, end: int) -> Iterator[tuple[str, int, bytes]]:
    """Stream, kind and payload of the entries ``start .. end-1``."""
    for number in range(start, end):
        path = directory / f"{number:012d}.json"
        try:
            entry = json.loads(path.read_text())
            found = entry["stream"], entry["kind"], entry["payload"].encode()
        except FileNotFoundError:
            raise JobError(f"{path} is gone: a query still needs it to restart") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise JobError(f"{path} is not what slackwater.Control writes: mend it") from None
        yield found

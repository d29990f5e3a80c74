"""State cells. An operator keeps everything it must not forget in cells that its host owns.

Three kinds are enough: ``value`` holds one byte string, ``map`` one per key, and ``log``
fragments by (key, position), so that an append never reads what is already there.
Every stored byte string starts with a version byte.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Protocol


class State(Protocol):
    """What a host offers. Keys and contents are bytes; names are fixed by the operator."""

    def get(self, cell: str, key: bytes) -> bytes | None: ...
    def put(self, cell: str, key: bytes, content: bytes) -> None: ...
    def remove(self, cell: str, key: bytes) -> None: ...


class ValueCell:
    """One byte string."""

    def __init__(self, state: State, name: str) -> None:
        self._state, self._name = state, name

    def get(self) -> bytes | None:
        return _unversioned(self._state.get(self._name, b""), self._name)

    def set(self, content: bytes) -> None:
        self._state.put(self._name, b"", VERSION + content)


class MapCell:
    """One byte string per key."""

    def __init__(self, state: State, name: str) -> None:
        self._state, self._name = state, name

    def get(self, key: bytes) -> bytes | None:
        return _unversioned(self._state.get(self._name, key), self._name)

    def put(self, key: bytes, content: bytes) -> None:
        self._state.put(self._name, key, VERSION + content)

    def remove(self, key: bytes) -> None:
        self._state.remove(self._name, key)


class LogCell:
    """Append-only fragments per key. Who appends knows the length and passes it in."""

    def __init__(self, state: State, name: str) -> None:
        self._cells = MapCell(state, name)

    def append(self, key: bytes, length: int, content: bytes) -> None:
        self._cells.put(_position(key, length), content)

    def read(self, key: bytes, length: int) -> Iterator[bytes]:
        for at in range(length):
            content = self._cells.get(_position(key, at))
            if content is None:
                raise StateError(f"fragment {at} of {length} is missing from the log of {key!r}")
            yield content

    def drop(self, key: bytes, length: int, keep: int = 0) -> None:
        for at in range(keep, length):
            self._cells.remove(_position(key, at))


class MemoryState:
    """Cells in a dictionary: the replay host's state, and what restart tests copy."""

    def __init__(self, cells: dict[tuple[str, bytes], bytes] | None = None) -> None:
        self.cells = {} if cells is None else cells

    def get(self, cell: str, key: bytes) -> bytes | None:
        return self.cells.get((cell, key))

    def put(self, cell: str, key: bytes, content: bytes) -> None:
        self.cells[(cell, key)] = content

    def remove(self, cell: str, key: bytes) -> None:
        self.cells.pop((cell, key), None)


class StateError(RuntimeError):
    """State that this version cannot read, or that is damaged."""


VERSION = b"\x01"


def _position(key: bytes, at: int) -> bytes:
    return key + struct.pack(">I", at)


def _unversioned(content: bytes | None, name: str) -> bytes | None:
    if content is None:
        return None
    if content[:1] != VERSION:
        raise StateError(
            f"cell {name!r} was written by another version of the state encoding "
            f"({content[0]}, this is {VERSION[0]}); start from a new checkpoint"
        )
    return content[1:]

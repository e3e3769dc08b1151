"""Stores the number of the last record delivered to each audit sink, one file per sink; retention keeps what any sink still lacks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from sys import maxsize

import msgspec

from gatewright.storage.private_file import replace_file

__all__ = ["Position", "SinkPositions"]


class _Place(msgspec.Struct):
    taken: int = 0


class Position:
    """How far one sink has got, kept in a file."""

    def __init__(self, file: Path) -> None:
        """Raises `OSError`."""
        self._file = file
        self.taken = _read(file)
        """The number of the last record that the sink has."""

    def move(self, taken: int) -> None:
        """The sink has every record up to this one. Raises `OSError`."""
        replace_file(self._file, msgspec.json.encode(_Place(taken)))
        self.taken = taken


class SinkPositions:
    """The positions of all sinks of one state folder, by the name of the sink; there may be none."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        """Raises `OSError` where one cannot be read."""
        self._each = {name: Position(folder / f"audit-sink.{name}.json") for name in names}

    def of(self, name: str) -> Position:
        """The position of the sink of this name. Raises `KeyError`."""
        return self._each[name]

    def taken(self) -> int:
        """The number of the last record that every sink has."""
        # Retention deletes nothing behind this number; without sinks nothing holds it back.
        return min((one.taken for one in self._each.values()), default=maxsize)


def _read(file: Path) -> int:
    """The number in the file; 0 where there is none, or nonsense: everything once more."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Place).taken
    except (FileNotFoundError, msgspec.DecodeError):
        return 0

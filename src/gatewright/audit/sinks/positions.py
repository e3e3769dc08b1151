"""How far each sink has come in the record: one number for each, in a file beside the record."""

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
    """That of one sink, in a file that remembers it."""

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
    """Those of the sinks of one state folder, by name. None is fine."""

    def __init__(self, folder: Path, names: Iterable[str]) -> None:
        """Raises `OSError` where one cannot be read."""
        self._each = {name: Position(folder / f"audit-sink.{name}.json") for name in names}

    def of(self, name: str) -> Position:
        """That of a sink. Raises `KeyError`."""
        return self._each[name]

    def taken(self) -> int:
        """The number of the last record that every sink has."""
        return min((one.taken for one in self._each.values()), default=maxsize)


def _read(file: Path) -> int:
    """The number in the file; 0 where there is none, or nonsense: everything once more."""
    try:
        return msgspec.json.decode(file.read_bytes(), type=_Place).taken
    except (FileNotFoundError, msgspec.DecodeError):
        return 0

"""Stores what `connect` changed in each host's file, with backups of the original, in a private folder.

One record a file. Records hold text of hosts' files, which may hold secrets: only their owner may read
them, and what is no longer needed goes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import msgspec

from gatewright.hosts.entry_splices import Record, digest
from gatewright.storage.private_file import replace_file

__all__ = ["Records"]


class Records:
    """The records in one folder, which need not exist yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, host: str, file: Path) -> Record:
        """The record of that file; an empty one where nothing was done to it.

        A record that cannot be read counts as none: entries then go by their names.
        """
        try:
            return msgspec.json.decode(self._path(host, file).read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError):
            return Record(host=host, file=str(file))

    def all(self) -> list[Record]:
        """Every record, in a steady order."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Record))
            except (OSError, msgspec.DecodeError):
                continue
        return found

    def keep(self, record: Record) -> None:
        """Write the record; one without any steps is removed instead."""
        path = self._path(record.host, Path(record.file))
        if record.steps:
            replace_file(path, msgspec.json.encode(record))
        else:
            path.unlink(missing_ok=True)

    def hand_over(self, folders: Sequence[str]) -> None:
        """Folders that could not go yet: whoever has a file in one of them removes it later."""
        for folder in folders:
            heir = next((one for one in self.all() if Path(folder) in Path(one.file).parents), None)
            if heir is not None and Path(folder).is_dir():
                self.keep(msgspec.structs.replace(heir, folders=(*heir.folders, folder)))

    def back_up(self, host: str, file: Path, text: str) -> Path:
        """Keep the file as it is; the path of the copy."""
        path = self._backup(host, file, text)
        replace_file(path, text.encode())
        return path

    def drop_backups(self, host: str, file: Path, text: str | None) -> list[Path]:
        """Remove the copies of a file that is again as it was; those that differ are kept and returned."""
        kept = []
        for path in self._folder.glob(f"{self._name(host, file)}.*.backup"):
            if text is not None and path == self._backup(host, file, text):
                path.unlink()
            else:
                kept.append(path)
        return kept

    def _backup(self, host: str, file: Path, text: str) -> Path:
        return self._folder / f"{self._name(host, file)}.{digest(text)[:12]}.backup"

    def _path(self, host: str, file: Path) -> Path:
        return self._folder / f"{self._name(host, file)}.json"

    def _name(self, host: str, file: Path) -> str:
        # A path is too long, and has slashes, for the name of a file; the host in front is for people.
        return f"{host}-{hashlib.sha256(str(file).encode()).hexdigest()[:16]}"

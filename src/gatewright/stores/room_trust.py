"""What operators changed about participants of rooms: capabilities given and taken, and who is kept out.

One small file in the state folder, replaced as a whole; what it says stands over the configuration and survives the
gateway, so that whoever lost a capability does not get it back by coming again. Only the running gateway writes it.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from gatewright.stores.errors import StoreError
from gatewright.stores.private_file import replace_file

__all__ = ["FILE", "Kept", "RoomTrust", "Word", "read_kept"]

FILE = "rooms.json"
"""Its name in the state folder."""


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was said of one participant, last by whom, when (RFC 3339), and why."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    blocked: bool = False
    by: str = ""
    at: str = ""
    reason: str = ""


class Kept(msgspec.Struct, frozen=True):
    """The file: its name among all such files, how often it was changed, and the words by participant."""

    mark: int
    steps: int
    words: dict[str, Word]


def read_kept(path: Path) -> Kept:
    """The file, or nothing where there is none. Raises `OSError`, `ValueError`."""
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Kept(0, 0, {})
    try:
        return msgspec.json.decode(text, type=Kept)
    except msgspec.ValidationError:  # of a gateway that did not count
        return Kept(0, 0, msgspec.json.decode(text, type=dict[str, Word]))


class RoomTrust:
    """The words of one state folder."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreError`."""
        self._path = folder / FILE
        self._kept = self._read()

    def word(self, participant: str) -> Word | None:
        """What was said of somebody; None where nothing was."""
        return self._kept.words.get(participant)

    def put(self, participant: str, word: Word) -> None:
        """Say something else of somebody. Raises `StoreError`, and then nothing has changed."""
        before = self._kept
        mark = before.mark or int.from_bytes(os.urandom(4)) >> 1 or 1
        after = Kept(mark, before.steps + 1, {**before.words, participant: word})
        try:
            replace_file(self._path, msgspec.json.encode(after))
        except OSError as problem:
            raise StoreError(f"{self._path} cannot be written: {problem}") from problem
        self._kept = after

    def _read(self) -> Kept:
        try:
            return read_kept(self._path)
        except OSError as problem:
            raise StoreError(f"{self._path} cannot be read: {problem}") from problem
        except ValueError:
            raise StoreError(
                f"{self._path} is damaged: restore it, or remove it and decide again"
            ) from None

"""What operators changed about participants of rooms: capabilities given and taken, and who is kept out.

One small file in the state folder, replaced as a whole; what it says stands over the configuration and survives the
gateway, so that whoever lost a capability does not get it back by coming again. Only the running gateway writes it.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from gatewright.stores.errors import StoreError
from gatewright.stores.private_file import replace_file

__all__ = ["FILE", "RoomTrust", "Word"]

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


class RoomTrust:
    """The words of one state folder."""

    def __init__(self, folder: Path) -> None:
        """Raises `StoreError`."""
        self._path = folder / FILE
        self._words = self._read()

    def word(self, participant: str) -> Word | None:
        """What was said of somebody; None where nothing was."""
        return self._words.get(participant)

    def put(self, participant: str, word: Word) -> None:
        """Say something else of somebody. Raises `StoreError`, and then nothing has changed."""
        words = {**self._words, participant: word}
        try:
            replace_file(self._path, msgspec.json.encode(words))
        except OSError as problem:
            raise StoreError(f"{self._path} cannot be written: {problem}") from problem
        self._words = words

    def _read(self) -> dict[str, Word]:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=dict[str, Word])
        except FileNotFoundError:
            return {}
        except OSError as problem:
            raise StoreError(f"{self._path} cannot be read: {problem}") from problem
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise StoreError(
                f"{self._path} is damaged: restore it, or remove it and decide again"
            ) from None

"""Store of operators' changes to room participants (capabilities, blocks) in the state database.

What it says stands over the configuration and survives the gateway, so that a participant that lost a capability does not get it back by
coming again. Only the running gateway writes it.
"""

from __future__ import annotations

import msgspec

from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase

__all__ = ["ParticipantChanges", "Word"]


class Word(msgspec.Struct, frozen=True, omit_defaults=True):
    """An operator's changes to a participant: capabilities `added` and `removed`, `blocked`; by whom, when (RFC 3339), why."""

    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    blocked: bool = False
    by: str = ""
    at: str = ""
    reason: str = ""


class ParticipantChanges:
    """Operators' changes by participant, read once from a state database and written through."""

    def __init__(self, state: StateDatabase) -> None:
        """Raises `StoreError`."""
        self._documents = Documents(state.section("rooms", "the words about participants"))
        try:
            self._words = {
                name: msgspec.json.decode(body, type=Word)
                for name, body in self._documents.all().items()
            }
        except msgspec.MsgspecError as problem:
            raise StoreError(f"a word about a participant cannot be read: {problem}") from problem

    def word(self, participant: str) -> Word | None:
        """The changes to a participant; None where there are none."""
        return self._words.get(participant)

    def put(self, participant: str, word: Word) -> None:
        """Replace the changes to a participant. Raises `StoreError`, and then nothing has changed."""
        self._documents.put(participant, msgspec.json.encode(word).decode())
        self._words[participant] = word

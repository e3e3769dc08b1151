"""`RoomCallers`: issues process-local handles to room participants and resolves them to callers; passes other credentials to API keys.

A participant is where its token let it in. In the place of that stands a handle that only this process can make: it is good for as long
as the participant is there and its token is good. Another who comes under the same name with other rights (a key may be called as a signed
token's owner is, or as a key with other limits) has another handle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from gatewright.call import ANONYMOUS, Caller
from gatewright.rooms.hub import Hub, Place

__all__ = ["Keys", "RoomCallers"]


class Keys(Protocol):
    """Where credentials are looked up that are no handles."""

    def verify(self, credential: str) -> Caller | str:
        """The credential's owner, or in one word why there is none."""


class RoomCallers:
    """Looks handles up, and leaves all other credentials to `keys`."""

    def __init__(
        self, keys: Keys, secret: str, hub: Hub, *, clock: Callable[[], float] = time.time
    ) -> None:
        """`secret` begins every handle; nobody else may know it. `clock` gives Unix seconds."""
        self._hub = hub
        self._keys = keys
        self._clock = clock
        self._mark = f"{secret}\n"

    def who(self, topic: str, participant: str) -> str:
        """Which of those who may be called so is in a topic (`Member.who`); empty where nobody is."""
        place = self._hub.place(topic, participant)
        return "" if place is None else place.member.who

    def handle(self, topic: str, participant: str, who: str) -> str:
        """What stands for the credential of a participant, that `who` is, inside this process."""
        return f"{self._mark}{topic}\n{who}\n{participant}"

    def verify(self, credential: str) -> Caller | str:
        """The owner of a handle or of a key, or in one word why there is none."""
        if not credential.startswith(self._mark):
            return self._keys.verify(credential)
        topic, who, participant = credential[len(self._mark) :].split("\n", 2)
        place = self._hub.place(topic, participant)
        if place is None or place.member.who != who:
            return "gone"
        identity = place.identity
        if identity.way == "anonymous":
            return ANONYMOUS
        return self._ended(place) or identity.caller or Caller(identity.id)

    def _ended(self, place: Place) -> str:
        """In one word why what a participant came with is not good any more; empty where it is. Its place is taken away a little
        later, when all are looked at."""
        caller, expires_at = place.identity.caller, place.identity.expires_at
        if expires_at is not None and expires_at <= self._clock():
            return "expired"
        # Other tokens than keys are of the configuration or of this process, and are good until a restart.
        if not place.token or caller is None or caller.key_id is None:
            return ""
        found = self._keys.verify(place.token)
        if isinstance(found, str):
            return found
        return "" if found.who == caller.who else "gone"

"""`RoomCallers`: issues process-local handles to room participants and resolves them to callers; passes other credentials to API keys.

A participant is where its token let it in, and has no credential that the kernel could look at again. In its place stands
a handle that only this process can make: it is good for as long as the participant is there. Another who comes under the same
name (a key may be called as a signed token's owner is) has another handle.
"""

from __future__ import annotations

from typing import Protocol

from gatewright.call import ANONYMOUS, Caller
from gatewright.rooms.hub import Hub

__all__ = ["Keys", "RoomCallers"]


class Keys(Protocol):
    """Where credentials are looked up that are no handles."""

    def verify(self, credential: str) -> Caller | str:
        """The credential's owner, or in one word why there is none."""


class RoomCallers:
    """Looks handles up, and leaves all other credentials to `keys`."""

    def __init__(self, keys: Keys, secret: str, hub: Hub) -> None:
        """`secret` begins every handle; nobody else may know it."""
        self._hub = hub
        self._keys = keys
        self._mark = f"{secret}\n"

    def who(self, topic: str, participant: str) -> str:
        """Which of those who may be called so is in a topic (`Identity.who`); empty where nobody is."""
        identity = self._hub.identity(topic, participant)
        return "" if identity is None else identity.who

    def handle(self, topic: str, participant: str, who: str) -> str:
        """What stands for the credential of a participant, that `who` is, inside this process."""
        return f"{self._mark}{topic}\n{who}\n{participant}"

    def verify(self, credential: str) -> Caller | str:
        """The owner of a handle or of a key, or in one word why there is none."""
        if not credential.startswith(self._mark):
            return self._keys.verify(credential)
        topic, who, participant = credential[len(self._mark) :].split("\n", 2)
        identity = self._hub.identity(topic, participant)
        if identity is None or identity.who != who:
            return "gone"
        if identity.way == "anonymous":
            return ANONYMOUS
        return identity.caller or Caller(identity.id)

"""A participant that is a part of this process, and its seat in the hub."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gatewright.participants.answering import Responder
from gatewright.participants.participant import Participant
from gatewright.protocol.room import Batch
from gatewright.rooms.hub import Hub, Place
from gatewright.rooms.policy import Identity

__all__ = ["FULL", "Inside"]

FULL = ("mcp/*", "chat")


class Inside:
    """The gateway itself, in one of its parts, in one topic. Nobody else can be called so there while it sits."""

    def __init__(
        self,
        hub: Hub,
        *,
        topic: str,
        name: str,
        responder: Responder,
        capabilities: Sequence[str] = FULL,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """`closed` is told when the place is lost."""
        self.participant = Participant(self._say, responder=responder)
        self.topic = topic
        self.name = name
        self._hub = hub
        self._identity = Identity(name, tuple(capabilities), way="gateway")
        self._closed = closed
        self._place: Place | None = None

    def sit(self) -> None:
        """Take the place. Raises `NoPlace`."""
        self._place = self._hub.join(self._identity, self.topic, self)

    def deliver(self, batch: Batch) -> None:
        """Hear what was said."""
        for message in batch.messages:
            self.participant.receive(message.text)

    def close(self, code: int, reason: str) -> None:
        """The place is gone."""
        self._place = None
        self.participant.lost(f"{reason} ({code})")
        self._closed()

    def _say(self, text: bytes) -> None:
        if self._place is not None:
            self._place.say(text)

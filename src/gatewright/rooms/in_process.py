"""`Inside`: in-process participant of a topic: queues what the hub delivers (8 MiB, drops beyond), handles it in event-loop slices.

What is said is read here on the event loop. Who says much at length is heard a little at a time: whenever that took some milliseconds,
everything else has its turn for longer than it took. What waits to be heard has a bound; beyond it nothing more is heard until there is room.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import lru_cache

from msgspec.structs import replace

from gatewright.mcpx.batches import Batch, Message
from gatewright.mcpx.envelope import Flaw
from gatewright.rooms.hub import Hub, Place
from gatewright.rooms.participants.answering import Responder
from gatewright.rooms.participants.participant import Heard, Participant, understood
from gatewright.rooms.policy import Identity

__all__ = ["FULL", "WAITING_BYTES", "Inside"]

log = logging.getLogger("gatewright.rooms")

FULL = ("mcp/*", "chat")
WAITING_BYTES = 8 * 1024 * 1024
"""What may wait to be heard; of one participant as much comes in two seconds at most."""
_SMALL = 4096
"""What the gateway says of who comes and goes is no longer; there is more room for such."""
_TURN_S = 0.002
_REST = 3
_LONGEST_REST_S = 0.1


_understood = lru_cache(4)(understood)
"""Several parts of this process hear the same; it is read once."""


def _heard(message: Message) -> Heard | Flaw:
    """What a message says, and whose it is: until it is heard, another may have come under its sender's name."""
    heard = _understood(message.text)
    if isinstance(heard, Flaw) or message.by is None:
        return heard
    return replace(heard, envelope=replace(heard.envelope, by=message.by.who))


def _loop_time() -> float:
    return asyncio.get_running_loop().time()


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
        clock: Callable[[], float] | None = None,
        identity: Identity | None = None,
    ) -> None:
        """`identity` is of a person who sits here by this process; without it the gateway itself does. `closed` is told when the place is lost; `clock` gives seconds of any origin: those of the event loop, by which it rests,
        where it is not given."""
        self.participant = Participant(self._say, responder=responder)
        self.topic = topic
        self.name = name
        self._hub = hub
        self._identity = identity or Identity(name, tuple(capabilities), way="gateway")
        self._closed = closed
        self._clock = clock or _loop_time
        self._place: Place | None = None
        self._waiting: deque[Message] = deque()
        self._bytes = 0
        self._deaf = False
        self._rest: asyncio.TimerHandle | None = None

    def sit(self) -> None:
        """Take the place. Raises `NoPlace`."""
        self._place = self._hub.join(self._identity, self.topic, self)

    def deliver(self, batch: Batch) -> None:
        """Hear what was said, now or a little later."""
        for message in batch.messages:
            if self._is_full(len(message.text)):
                continue
            self._bytes += len(message.text)
            self._waiting.append(message)
        if self._rest is None:
            self._hear()

    def _is_full(self, size: int) -> bool:
        full = self._bytes + size > WAITING_BYTES * (2 if size < _SMALL else 1)
        if full and not self._deaf:
            log.warning("%s hears no more in %s until it has caught up", self.name, self.topic)
        self._deaf = full
        return full

    def _hear(self) -> None:
        self._rest, began = None, self._clock()
        while self._waiting:
            message = self._waiting.popleft()
            self._bytes -= len(message.text)
            self.participant.hear(_heard(message))
            spent = self._clock() - began
            if spent > _TURN_S:
                rest = min(_REST * spent, _LONGEST_REST_S)
                self._rest = asyncio.get_running_loop().call_later(rest, self._hear)
                return

    def close(self, code: int, reason: str) -> None:
        """The place is gone."""
        self._place = None
        self._waiting.clear()
        self._bytes = 0
        self.participant.lost(f"{reason} ({code})")
        self._closed()

    def _say(self, text: bytes) -> None:
        if self._place is not None:
            self._place.say(text)

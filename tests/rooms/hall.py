"""A gateway with rooms, served on a real socket of this process, and guests for it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from gatewright.call import Caller, Refusal, Unrecorded
from gatewright.mcpx.capabilities import PROFILES
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Bounds, Member, No
from gatewright.rooms.admin_endpoint import RoomsAdmin
from gatewright.rooms.endpoint import RoomsEndpoint
from gatewright.rooms.hub import Hub
from gatewright.rooms.identities import Identities
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.policy import Known, Policy
from gatewright.rooms.setup import stamp
from gatewright.rooms.trust_store import ParticipantChanges
from gatewright.transport.base import Limits
from gatewright.transport.http_server import serve
from tests.dialects.house import House
from tests.rooms.foreign import Guest
from tests.storage.parts import nowhere, state_in

__all__ = ["FULL", "OPERATOR", "UNLIMITED", "Hall", "Notes", "policy", "token_of"]

FULL = PROFILES["full"]
UNLIMITED: dict[str, Any] = {
    "messages_per_s": 1e9,
    "burst": 1e9,
    "bytes_per_s": 1e12,
    "burst_bytes": 1e12,
}


OPERATOR = "the-token-of-an-operator"


def token_of(name: str) -> str:
    """The token of a configured participant."""
    return f"token-of-{name}-0123456789"


class Notes:
    """A journal in memory. `broken` makes it one that cannot be written."""

    def __init__(self) -> None:
        self.lines: list[tuple[Any, ...]] = []
        self.broken = False

    def _note(self, *line: Any) -> None:
        if self.broken:
            raise Unrecorded("the disk is full")
        self.lines.append(line)

    @property
    def fault(self) -> str | None:
        """What is wrong."""
        return "the disk is full" if self.broken else None

    def joined(self, topic: str, member: Member, way: str) -> None:
        """Note it."""
        self._note("joined", topic, member.id, way)

    def left(self, topic: str, member: Member, why: str) -> None:
        """Note it."""
        self._note("left", topic, member.id, why)

    def passed(self, topic: str, envelope: Envelope) -> None:
        """Note it."""
        self._note("passed", topic, envelope.id, envelope.kind, envelope.correlation_id)

    def refused(self, topic: str, member: Member, no: No) -> None:
        """Note it."""
        self._note("refused", topic, member.id, no.error, no.kind)

    def changed(
        self,
        participant: str,
        what: str,
        old: Sequence[str],
        new: Sequence[str],
        by: str,
        reason: str,
    ) -> None:
        """Note it."""
        self._note(what, participant, tuple(old), tuple(new), by, reason)


def policy(people: Mapping[str, Sequence[str] | Known] | None = None, /, **more: Any) -> Policy:
    """What is configured: participants by name, with what they may send; bounds and all else by their names."""
    known = {
        name: one if isinstance(one, Known) else Known(name, tuple(one))
        for name, one in (people or {}).items()
    }
    bounds = {name: more.pop(name) for name in list(more) if name in Bounds.__struct_fields__}
    tokens = {sha256(token_of(name).encode()).digest(): one for name, one in known.items()}
    return Policy(bounds=Bounds(**bounds), tokens=tokens, known=known, **more)


class Hall:
    """Used as a context; whoever is still connected at its end is closed."""

    def __init__(
        self,
        people: Mapping[str, Sequence[str] | Known] | None = None,
        *,
        signed: Any = None,
        limits: Limits | None = None,
        state: Path | None = None,
        **more: Any,
    ) -> None:
        """`state` is a folder for what operators say; without one, one that nothing can be written to."""
        self.trust = ParticipantChanges(state_in(state) if state else nowhere())
        self.policy = policy(people, **more)
        self.notes = Notes()
        self.guests: list[Guest] = []
        self.revoked: set[str] = set()
        """Keys that are not good any more."""
        self.now = time.monotonic
        self._signed = signed
        self._limits = limits or Limits()
        self._random = itertools.count(1)

    def _key(self, token: str) -> Caller | Refusal:
        return self._house.identify("websocket", "" if token in self.revoked else token)

    def _operators(self, door: str, token: str | None) -> Caller | Refusal:
        if token == OPERATOR:
            return Caller("boss", "operator")
        return self._house.identify(door, token)

    def _clock(self) -> float:
        return self.now()

    async def __aenter__(self) -> Hall:
        self._house = House(anonymous=False, routes=lambda _: [self.door.routes])
        self.hub = Hub(
            self.policy,
            journal=self.notes,
            trust=self.trust,
            stamp=stamp,
            monotonic=self._clock,
        )
        identities = Identities(
            self.policy,
            keys=self._key,
            random=lambda size: next(self._random).to_bytes(size, "big"),
            signed=self._signed,
        )
        self.promotion = ParticipantAdmin(self.hub, self.trust)
        admin = RoomsAdmin(self.hub, self.promotion, self._operators)
        self.door = RoomsEndpoint(self.hub, identities, admin)
        await self._house.__aenter__()
        self.server = await serve(self._house.app, limits=self._limits)
        self.url = self.server.url.replace("http", "ws", 1) + "/ws"
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self._house.app.close()
        await self.server.stop(2.0)
        for guest in self.guests:
            await guest.over()
        await self._house.__aexit__(*problem)
        assert not self.hub.rooms, "a room is left"

    async def guest(
        self, name: str | None, topic: str = "lobby", more: str = "", **options: Any
    ) -> Guest:
        """A configured participant, connected and welcomed."""
        token = options.pop("token", None) or (None if name is None else token_of(name))
        guest = Guest(self.url, topic, token)
        await guest.connect(more, **options)
        self.guests.append(guest)
        return guest

    async def all(self, *names: str, topic: str = "lobby") -> list[Guest]:
        """Some participants, one after the other; none has the presence of another left to read."""
        found = [await self.guest(name, topic) for name in names]
        for number, one in enumerate(found):
            for _ in names[number + 1 :]:
                await one.next("system/presence")
        return found

    async def gone(self, count: int = 0) -> None:
        """Wait until no more than so many places are taken."""
        async with asyncio.timeout(20):
            while len(list(self.hub.places())) > count:
                await asyncio.sleep(0.005)

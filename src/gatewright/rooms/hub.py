"""`Hub`: MCPx topics of this process: admits, removes, lists participants, sets their routing; routes and audits messages.

`join` takes an identity and a seat, and gives a `Place`: by it a participant speaks and leaves. A seat is whatever takes
messages: a WebSocket, or an object of this process. What waits in a room leaves together (`Deliveries`). What a message says is
never stored: a topic that nobody is in any more is forgotten.

A seat must neither block nor raise. One that raises loses its place, and nobody else notices.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterator
from typing import Literal

import msgspec

from gatewright.call import Refusal, Unrecorded
from gatewright.mcpx.envelope import Envelope, is_participant_id, is_topic
from gatewright.mcpx.topic import Member, No, Room, Stamp
from gatewright.rooms.deliveries import Deliveries
from gatewright.rooms.hub_types import Journal, Seat, Seated, seated
from gatewright.rooms.policy import Identity, Policy, Trust, with_word
from gatewright.rooms.topic_shares import TopicShares
from gatewright.transport.slices import begun

__all__ = ["Hub", "NoPlace", "Place"]

NORMAL = 1000
GOING_AWAY = 1001
INTERNAL_ERROR = 1011


class NoPlace(Exception):  # noqa: N818 - a verdict, not a malfunction
    """Somebody does not get in. `refusal.reason` is a key of `mcp/wire/codes.py`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class Place:
    """One participant in one topic."""

    __slots__ = ("_hub", "identity", "member", "room", "token")

    def __init__(self, hub: Hub, room: Room, member: Member, identity: Identity) -> None:
        self._hub = hub
        self.token = ""
        self.room = room
        self.member = member
        self.identity = identity

    def say(self, text: bytes) -> None:
        """Send one message. What is wrong with it is told to the seat, as a `system/error`."""
        self._hub.say(self, text)

    def leave(self, why: str = "left") -> None:
        """Give the place up; idempotent. The seat is told nothing any more."""
        self._hub.leave(self, why)


class Hub:
    """See the module's text. Belongs to one event loop."""

    def __init__(
        self,
        policy: Policy,
        *,
        journal: Journal,
        stamp: Stamp,
        trust: Trust | None = None,
        monotonic: Callable[[], float],
        soon: Callable[[Callable[[], object]], object] | None = None,
        later: Callable[[float, Callable[[], object]], object] | None = None,
        sliced: Callable[[Generator[None, None, None]], object] = begun,
    ) -> None:
        """`soon` runs something at the end of this turn, `later` after some seconds, `sliced` steps in slices; those of the event loop
        where they are not given."""
        self.policy = policy
        self.rooms: dict[str, Room] = {}
        self._shares = TopicShares()
        self.journal = journal
        self.stamp = stamp
        self._trust = trust
        self._monotonic = monotonic
        self._deliveries = Deliveries(self._broke, soon=soon, later=later, sliced=sliced)
        self._touch = self._deliveries.touch
        self._places: dict[Member, Place] = {}

    # -- coming and going

    def admits(self, identity: Identity, topic: str) -> Refusal | None:
        """Why this participant may not come into this topic now; None where it may."""
        if not is_topic(topic):
            said = "topic must be a name of 1 to 128 printable characters: GET /ws?topic=NAME"
            return Refusal("invalid_request", said)
        if not is_participant_id(identity.id):
            return Refusal("access_denied", "nobody can be called so in a room; use another name")
        word = None if self._trust is None else self._trust.word(identity.id)
        if word is not None and word.blocked:
            return Refusal("access_denied", "an operator keeps this participant out of rooms")
        if not self.policy.lets_in(identity, topic):
            return Refusal("access_denied", "this token is not good for this topic")
        if identity.way != "gateway" and self._is_gateways(topic, identity.id):
            return Refusal(
                "access_denied", "the gateway itself is called so here; use another name"
            )
        # Only now: those whom the topic is not open to do not learn whether it is full.
        room = self.rooms.get(topic)
        if room is None:
            flaw = self._shares.flaw(identity, topic, len(self.rooms), self.policy)
        else:
            full = room.is_full and identity.id not in room.members
            flaw = "topic_full: the topic has no room for another" if full else ""
        if flaw:
            return Refusal("resource_exhausted", flaw)
        fault = self.journal.fault
        return None if fault is None else Refusal("audit_unavailable", fault)

    def _is_gateways(self, topic: str, participant: str) -> bool:
        before = self.identity(topic, participant)
        sits = before is not None and before.way == "gateway"
        return sits or self.policy.is_reserved(participant)

    def join(self, identity: Identity, topic: str, seat: Seat, *, token: str = "") -> Place:
        """Take a place. The welcome comes to the seat by the end of this turn. Who is in the topic already loses its
        former place, whose seat is closed; with other rights it is another, and its name leaves first. `token` is what it came with.
        Raises `NoPlace`."""
        refusal = self.admits(identity, topic)
        if refusal is not None:
            raise NoPlace(refusal)
        id, now = self.stamp()
        member = Member(
            identity.id,
            self._capabilities(identity),
            seat=seat,
            connection=id,
            since=now,
            mode=identity.mode,
            echo=identity.echo,
            limited=identity.way != "gateway",
        )
        former = self.place(topic, identity.id)
        alike = former if former and former.identity.rights == identity.rights else None
        member.who = alike.member.who if alike else f"{identity.who} {id}"
        try:  # before it holds: who cannot be recorded does not come in
            self.journal.joined(topic, member, identity.way)
        except Unrecorded as problem:
            raise NoPlace(Refusal("audit_unavailable", str(problem))) from None
        room = self.rooms.get(topic)
        if room is None:
            room = self.rooms[topic] = self._new_room(topic)
            self._shares.opened(identity, topic, self.policy)
        if former is not None and alike is None:
            room.leave(former.member)  # so that everybody ends what they have with it
        room.join(member)
        self._shares.joined(topic, identity)
        place = self._places[member] = Place(self, room, member, identity)
        place.token = token
        if former is not None:
            self._shares.left(topic, former.identity, self.policy)
            self._gone(former.member, room, "replaced")
            former.member.seat.close(NORMAL, "replaced by a newer connection")
        self._touch(room)
        self._deliveries.welcome(room, member)
        return place

    def leave(self, place: Place, why: str) -> None:
        """See `Place.leave`."""
        room, member = place.room, place.member
        if not room.leave(member):
            return
        self._gone(member, room, why)
        if room.members:
            self._shares.left(room.name, place.identity, self.policy)
            self._touch(room)
        else:
            self._deliveries.forget(room)
            del self.rooms[room.name]
            self._shares.closed(room.name)

    def remove(self, participant: str, reason: str, code: int = NORMAL) -> int:
        """Take away every place of a participant and close its seats. How many those were."""
        places = [one for one in self._places.values() if one.member.id == participant]
        for place in places:
            self.end(place, code, reason)
        return len(places)

    def end(self, place: Place, code: int, reason: str) -> None:
        """Take one place away, and close its seat."""
        self.leave(place, reason)  # first: its connection then finds no place to leave
        place.member.seat.close(code, reason)

    def close(self) -> None:
        """The gateway stops."""
        for place in list(self._places.values()):
            self.end(place, GOING_AWAY, "the gateway stops")

    def _gone(self, member: Member, room: Room, why: str) -> None:
        self._places.pop(member, None)
        with contextlib.suppress(Unrecorded):  # it is gone, recorded or not
            self.journal.left(room.name, member, why)

    def _broke(self, member: Member) -> None:
        place = self._places.get(member)
        if place is not None:
            with contextlib.suppress(Exception):  # but whoever sits there may learn of it
                self.end(place, INTERNAL_ERROR, "its seat broke")

    def _capabilities(self, identity: Identity) -> tuple[str, ...]:
        word = None if self._trust is None else self._trust.word(identity.id)
        return with_word(identity.capabilities, word)

    def allow(self, place: Place) -> None:
        """What operators say of somebody has changed: it holds from the next message on, and is told."""
        place.room.allow(place.member, self._capabilities(place.identity))
        self._touch(place.room)

    def _new_room(self, topic: str) -> Room:
        bounds, limit = self.policy.bounds, self.policy.topic(topic).participants
        if limit is not None:
            bounds = msgspec.structs.replace(bounds, participants=limit)
        return Room(topic, bounds, self.stamp)

    # -- speaking

    def say(self, place: Place, text: bytes) -> None:
        """See `Place.say`."""
        room, member = place.room, place.member
        if not member.is_here:
            return  # what it still said while its place was taken away
        verdict = room.judge(member, text, self._monotonic())
        if type(verdict) is Envelope:
            verdict = self._recorded(room, verdict) or verdict
        if type(verdict) is Envelope:
            room.route(member, verdict)
        elif type(verdict) is No:
            self._refuse(room, member, verdict)
        self._touch(room)

    def _recorded(self, room: Room, envelope: Envelope) -> No | None:
        recorded = self.policy.recorded
        if recorded == "none" or (recorded == "mcp" and not envelope.kind.startswith("mcp/")):
            return None
        try:
            self.journal.passed(room.name, envelope)
        except Unrecorded as problem:
            return No("audit_unavailable", str(problem), envelope.id, envelope.kind)
        return None

    def _refuse(self, room: Room, member: Member, no: No) -> None:
        if no.error:
            with contextlib.suppress(Unrecorded):  # it is refused, recorded or not
                self.journal.refused(room.name, member, no)
        room.refuse(member, no)

    # -- what operators see and change

    def connections(self, participant: str | None = None) -> list[Seated]:
        """Everybody who is here, or the places of one participant."""
        return [
            seated(member, place.room.name)
            for member, place in self._places.items()
            if participant is None or member.id == participant
        ]

    def place(self, topic: str, participant: str) -> Place | None:
        """The place of somebody in a topic; None where they are not there."""
        room = self.rooms.get(topic)
        member = None if room is None else room.members.get(participant)
        return None if member is None else self._places.get(member)

    def identity(self, topic: str, participant: str) -> Identity | None:
        """Who somebody in a topic is; None where they are not there."""
        place = self.place(topic, participant)
        return None if place is None else place.identity

    def may(self, topic: str, participant: str, kind: str) -> bool:
        """Whether somebody in a topic may send a kind now."""
        room = self.rooms.get(topic)
        member = None if room is None else room.members.get(participant)
        return member is not None and member.capabilities.allows(kind)

    def places(self) -> Iterator[Place]:
        """Every place that is taken."""
        return iter(list(self._places.values()))

    def prefer(
        self,
        participant: str,
        *,
        mode: Literal["all", "directed"] | None = None,
        echo: bool | None = None,
    ) -> int:
        """Route to a participant in another way from the next message on. In how many places."""
        places = [one for one in self._places.values() if one.member.id == participant]
        for place in places:
            place.member.echo = place.member.echo if echo is None else echo
            if mode is not None:
                place.room.prefer(place.member, mode)
                self._touch(place.room)
        return len(places)

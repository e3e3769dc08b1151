"""`RoomSeats`: a console user's seats in rooms, dropped when unused: messages since joining, proposals, and sending messages."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Caller
from gatewright.console.operations import ApiError
from gatewright.console.paging import Key, page_of
from gatewright.console.people import Person
from gatewright.console.rendering import is_short
from gatewright.console.whole_texts import MOST_CHARS
from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.payload import Chat, Proposed, Requested, Responded, Said
from gatewright.rooms.hub import Hub, NoPlace
from gatewright.rooms.in_process import FULL, Inside
from gatewright.rooms.participants.participant import Heard
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.tool_responder import Tools
from gatewright.rooms.policy import Identity
from gatewright.transport.slices import in_slices

__all__ = ["Line", "ProposalCard", "RoomSeat", "RoomSeats", "digest_of", "params_of"]

_KEPT = 300
"""Messages of a room that somebody who sits there can look back at."""
_CHARS, _PARAMS_CHARS = 2_000, MOST_CHARS
"""Of a message, and of what a proposal asks for: a page shows no more of one text."""
_UNUSED_S = 120.0
"""After so long without a page that asks, a place is given up."""
_LOOK_S = 30.0
"""Between two looks at who is still there, while somebody is: whoever has gone asks for nothing any more."""
_SEATS, _SEATS_EACH = 100, 10
_DRY_RUN = "dry run of "

Later = Callable[[float, Callable[[], None]], object]
"""Has something done after so many seconds."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One message, as a person reads it."""

    id: str
    sender: str
    time: str
    """As its sender says, ISO 8601; empty where it does not."""
    what: str
    """`chat`, `proposal`, `request`, `response`, `system`."""
    text: str
    about: str
    """The message that it is about."""
    by_gateway: bool = False
    """Whether the gateway itself said it. Anybody else may write the same words."""


class ProposalCard(msgspec.Struct, frozen=True, kw_only=True):
    """One proposal. Times are Unix seconds."""

    id: str
    proposer: str
    target: str
    method: str
    params: str
    """JSON text; its beginning where it is too long to be shown."""
    digest: str
    """Of all that is proposed, by whom and to whom; an approval names it, so that nobody agrees to what was not looked at."""
    whole: bool
    """Whether this is all of it, and a page names what it hides; if not, it is approved where its last page was shown."""
    status: str
    decided_by: str
    reason: str
    created: float
    expires: float
    verdicts: Sequence[str]
    """What the gates would say, as the gateway has told the room."""
    said: Sequence[Line]
    """What else was said about it."""


class RoomSeat:
    """One person in one room."""

    def __init__(self, hub: Hub, person: Person, topic: str, told: Callable[[], object]) -> None:
        """`told` is called for everything that is heard."""
        may = person.may("decide")
        # Who may change nothing makes calls here in their own name alone, with the grants that it has.
        caller = Caller(person.id, "operator") if person.may("change") else None
        mode: Any = "all"
        identity = Identity(person.id, FULL if may else (), mode, named=True, caller=caller)
        self.topic = topic
        self.role = person.role
        self.talk: deque[Line] = deque(maxlen=_KEPT)
        self.used = 0.0
        self.lost = False
        self._told = told
        self._hub = hub
        self._inside = Inside(
            hub,
            topic=topic,
            name=person.id,
            responder=Tools("console"),
            closed=self._closed,
            identity=identity,
        )
        self.me = self._inside.participant
        self.me.watchers.append(self._heard)
        self._inside.sit()

    def leave(self, hub: Hub) -> None:
        """Give the place up."""
        for place in hub.places():
            if place.member.seat is self._inside:
                place.leave("left")
        self.lost = True

    async def proposals(self, after: str, limit: int) -> tuple[list[ProposalCard], str]:
        """One page of them, newest first, from a place on; and where the next one begins. Raises `ApiError`."""
        every = [*self.me.proposals]
        place: Callable[[Proposal], Key] = lambda one: (one.created_at, one.id)  # noqa: E731
        page = page_of(every, place, after=after, limit=limit, descending=True)
        rows, more, _ = await in_slices(page)
        # Beside the loop: together they may be megabytes, which are written out and gone through twice.
        looked_at = await asyncio.to_thread(lambda: [_Looked.at(one) for one in rows])
        about: dict[str, list[Line]] = {}
        for line in self.talk:
            if line.about and line.what == "chat":
                about.setdefault(line.about, []).append(line)
        pairs = zip(rows, looked_at, strict=True)
        return [_card(one, looked, about.get(one.id, [])) for one, looked in pairs], more

    def _closed(self) -> None:
        self.lost = True

    def _heard(self, heard: Heard) -> None:
        # As it was said: whoever has the name later may be somebody else.
        who = self._hub.identity(self.topic, heard.envelope.sender)
        line = _line(heard, by_gateway=who is not None and who.way == "gateway")
        if line is not None:
            self.talk.append(line)
        self._told()


class RoomSeats:
    """Of one gateway. On its event loop."""

    def __init__(
        self,
        hub: Hub,
        clock: Callable[[], float],
        told: Callable[[], object],
        later: Later | None = None,
    ) -> None:
        """`later` has something done after so many seconds; the running loop where it is left out."""
        self._hub = hub
        self._clock = clock
        self._told = told
        self._later = later
        self._looks = False
        self._seats: dict[tuple[str, str], RoomSeat] = {}

    def find(self, person: Person, topic: str) -> RoomSeat | None:
        """The place of a person in a room, which is used by that; None where there is none."""
        self._sweep()
        seat = self._seats.get((person.id, topic))
        if seat is not None and seat.role != person.role:
            self.leave(person, topic)  # it may what they might then
            return None
        if seat is not None:
            seat.used = self._clock()
        return seat

    def join(self, person: Person, topic: str) -> RoomSeat:
        """Take a place, unless there is one. Raises `ApiError`."""
        found = self.find(person, topic)
        if found is not None:
            return found
        if len(self._seats) >= _SEATS:
            raise ApiError(503, "crowded", "too many people are in rooms by the console")
        if sum(id == person.id for id, _ in self._seats) >= _SEATS_EACH:
            said = f"you are in {_SEATS_EACH} rooms already"
            raise ApiError(503, "crowded", said, "leave one of them")
        if any(
            one.participantId == person.id and one.topic == topic for one in self._hub.connections()
        ):
            said = f"somebody called {person.id} is in this room already, by another program"
            raise ApiError(409, "taken", said, "leave there first")
        try:
            seat = RoomSeat(self._hub, person, topic, self._told)
        except NoPlace as no:
            raise ApiError(403, no.refusal.reason, no.refusal.message) from None
        seat.used = self._clock()
        self._seats[person.id, topic] = seat
        self._look_later()
        return seat

    def leave(self, person: Person, topic: str) -> None:
        """Give a place up, where there is one."""
        seat = self._seats.pop((person.id, topic), None)
        if seat is not None:
            seat.leave(self._hub)

    def _look_later(self) -> None:
        if not self._looks:
            self._looks = True
            (self._later or asyncio.get_running_loop().call_later)(_LOOK_S, self._look)

    def _look(self) -> None:
        self._looks = False
        self._sweep()
        if self._seats:
            self._look_later()

    def _sweep(self) -> None:
        now = self._clock()
        for key, seat in list(self._seats.items()):
            if seat.lost or now - seat.used > _UNUSED_S:
                del self._seats[key]
                seat.leave(self._hub)


def _is_verdict(line: Line) -> bool:
    return line.by_gateway and line.text.startswith(_DRY_RUN)


def _line(heard: Heard, *, by_gateway: bool) -> Line | None:
    envelope, content = heard.envelope, heard.content
    what, text = "system", ""
    if isinstance(content, Chat):
        what, text = "chat", content.text
    elif isinstance(content, Proposed):
        what, text = "proposal", _operation(content.operation.method, content.operation.params)
    elif isinstance(content, Requested):
        what, text = "request", _operation(content.operation.method, content.operation.params)
    elif isinstance(content, Responded):
        what, text = (
            "response",
            _json(content.error if content.error is not None else content.result),
        )
    elif isinstance(content, Said):
        text = _system(content)
    if not text:
        return None
    return Line(
        id=envelope.id,
        sender=envelope.sender,
        time=envelope.ts or "",
        what=what,
        text=_short(text),
        about=envelope.correlation_id or "",
        by_gateway=by_gateway,
    )


def _short(text: str) -> str:
    more = len(text) - _CHARS
    return text if more <= 0 else f"{text[:_CHARS]}… ({more:,} more characters are not shown)"


def _system(said: Said) -> str:
    payload = said.payload
    if said.what == "presence":
        who = payload.get("participant")
        name = who.get("id") if isinstance(who, dict) else who
        return f"{name} {'left' if payload.get('event') == 'leave' else 'came'}"
    if said.what == "error":
        return f"{payload.get('error')}: {payload.get('message')}"
    return ""


def _operation(method: str, params: Any) -> str:
    return f"{method} {_json(params)}"


def _json(value: Any) -> str:
    return jsonrpc.encode(value).decode("utf-8", "replace")


def params_of(one: Proposal) -> tuple[str, bool]:
    """What a proposal asks for, JSON text, as far as it is shown among others, and whether that is all of it."""
    text = _json(one.operation.params)
    return text[:_PARAMS_CHARS], is_short(text) and is_short(one.operation.method)


def digest_of(one: Proposal) -> str:
    """SHA-256 of what is proposed, by whom and to whom. Its id is its proposer's word: once a proposal is forgotten, the same id may come
    with another."""
    head = [one.proposer, one.target, one.operation.method]
    found = sha256(jsonrpc.encode(head))  # which ends where a list of texts does
    found.update(jsonrpc.encode(one.operation.params))
    return found.hexdigest()


class _Looked(NamedTuple):
    """What is worked out of what a proposal asks for."""

    params: str
    whole: bool
    digest: str

    @classmethod
    def at(cls, one: Proposal) -> _Looked:
        return cls(*params_of(one), digest_of(one))


def _card(one: Proposal, looked: _Looked, about: Sequence[Line]) -> ProposalCard:
    return ProposalCard(
        id=one.id,
        proposer=one.proposer,
        target=one.target or "",
        method=one.operation.method,
        params=looked.params,
        digest=looked.digest,
        whole=looked.whole,
        status=one.status,
        decided_by=one.decided_by or "",
        reason=one.reason,
        created=one.created_at,
        expires=one.expires_at,
        verdicts=[line.text for line in about if _is_verdict(line)],
        said=[line for line in about if not _is_verdict(line)],
    )

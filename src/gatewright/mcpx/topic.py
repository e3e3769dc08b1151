"""`Room`: one MCPx topic as a state machine: members, permission and rate to send, open requests, routing, an outbox flushed in batches.

No I/O and no clock. `judge` says whether a message may pass, `route` and `refuse` put what follows into an outbox, and
`flush` empties it into batches: each a run of messages for a set of members who all get the same. Most members of most
rooms hear everything, so one batch serves them all, and whoever writes it to sockets has to encode it once.

A message reaches those who were members when it was sent; somebody who joins between two flushes gets what came after
the welcome. Order is the order of sending, for every member. Presence may wait for a while in a large room
(`patient`), so that a thousand who come together do not cost a million writes; what is said never waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal

import msgspec

from gatewright.mcpx.batches import Batch, Message, parted
from gatewright.mcpx.capabilities import Capabilities
from gatewright.mcpx.envelope import GATEWAY, Envelope, Flaw, compose, is_reserved, read
from gatewright.mcpx.open_requests import OpenRequests
from gatewright.mcpx.system_messages import (
    error_payload,
    member_text,
    notice_payload,
    presence_payload,
    welcome_payload,
)

__all__ = ["PIECE_BYTES", "Bounds", "Member", "Mode", "No", "Room", "Stamp"]

Mode = Literal["all", "directed"]
_READ_ANYWAY = 4096
"""Bytes. Of what is longer and not let in not even the id is read."""
PIECE_BYTES = 1024 * 1024
"""What leaves together at most, one message at least: for each member it is put together in one step. A name in `to` counts as some bytes."""
Stamp = Callable[[], tuple[str, str]]
"""A fresh message id (UUID, version 4) and the time (RFC 3339)."""


class Bounds(msgspec.Struct, frozen=True):
    """What one participant may do, and what is optional."""

    message_bytes: int = 256 * 1024
    messages_per_s: float = 2000.0
    burst: float = 10_000.0
    bytes_per_s: float = 4.0 * 1024 * 1024
    burst_bytes: float = 2.0 * 1024 * 1024
    """What one may send at once: less than makes a reader a slow one, or one sender could have all of them cut."""
    participants: int = 10_000
    """In one topic."""
    strict_proposals: bool = False
    """Refuse a proposal that has a correlation_id (decision C-26)."""
    violation_notice: bool = False
    """Tell the others when somebody tries what they may not (MCPx §6.4)."""
    presence_to_joiner: bool = False
    """Send a joiner its own join as well (decision C-60)."""


class Member:
    """Somebody in a topic. `seat` is whatever its driver reaches it by."""

    __slots__ = tuple(
        "_at _bytes _tokens capabilities connection dry echo heard id is_here limited mode seat since text wanted who".split()
    )

    def __init__(
        self,
        id: str,
        capabilities: Sequence[str],
        *,
        seat: Any,
        connection: str,
        since: str,
        mode: Mode = "all",
        echo: bool = True,
        limited: bool = True,
    ) -> None:
        """`limited` is False for the gateway's own: it answers everybody, so its allowance would be used up by a few."""
        self.limited = limited
        self.who = ""
        """What tells apart those who may take a place under one id."""
        self.id = id
        self.seat = seat
        self.connection = connection
        self.since = since
        """When it joined, RFC 3339."""
        self.heard = 0
        """The number of the last message that it got, or that was not for it."""
        self.is_here = False
        """Whether it has its place in a room."""
        self.mode: Mode = mode
        """How what leaves next is routed to it."""
        self.wanted: Mode = mode
        """How it will be, once what waits has left (`Room.prefer`)."""
        self.echo = echo
        self.dry = False
        """Whether it was told that it sends too much, and has sent nothing acceptable since."""
        self._tokens = -1.0  # nothing sent yet: the first message finds the whole burst
        self._bytes = 0.0
        self._at = 0.0
        self.allow(capabilities)

    def allow(self, capabilities: Sequence[str]) -> None:
        """From now on it may send these kinds."""
        self.capabilities = Capabilities(capabilities)
        self.text = member_text(self.id, self.capabilities.patterns)

    def may_send(self, now: float, bounds: Bounds, size: int) -> bool:
        """Take one message of `size` bytes from its allowance, all of it where the message is larger. `now` is monotonic
        seconds."""
        # Without `max` a message longer than the burst could never be sent.
        tokens, room = bounds.burst, max(bounds.burst_bytes, bounds.message_bytes)
        size = min(size, int(room))
        if self._tokens >= 0.0:
            passed = now - self._at
            tokens = min(tokens, self._tokens + passed * bounds.messages_per_s)
            room = min(room, self._bytes + passed * bounds.bytes_per_s)
        self._at = now
        enough = tokens >= 1.0 and room >= size
        self._tokens = tokens - 1.0 if enough else tokens
        self._bytes = room - size if enough else room
        return enough


class No(msgspec.Struct, frozen=True):
    """A message that is not passed on. `error` is one of decision C-31; an empty one is not answered."""

    error: str
    message: str
    id: str | None = None
    kind: str | None = None


class Room:
    """One topic."""

    def __init__(self, name: str, bounds: Bounds, stamp: Stamp) -> None:
        self.name = name
        self.bounds = bounds
        self.members: dict[str, Member] = {}
        self.waiting = 0
        """What the messages weigh that wait for a flush (`Message.weight`), in bytes."""
        self.patient = True
        """Whether nothing but presence waits for those who do not know it yet."""
        self._stamp = stamp
        self._asked = OpenRequests()
        self._out: list[Message] = []
        self._changes: dict[tuple[int, Member], Mode] = {}
        """Modes that hold behind a number."""
        self._number = 0
        self._told = 0
        """The highest number that a member had heard of before the others."""

    # -- who is here

    @property
    def is_full(self) -> bool:
        """Whether nobody else gets in."""
        return len(self.members) >= self.bounds.participants

    def join(self, member: Member) -> Member | None:
        """Let somebody in: a welcome to them, then their presence to the others (decision C-60). The result is
        the member whose place it takes, where the participant was here already; the others are not told of that,
        unless it may now send other kinds."""
        patient = self.patient
        before = self.members.pop(member.id, None)
        others = list(self.members.values())
        if before is not None:
            before.is_here = False
        self.members[member.id] = member
        member.is_here = True
        member.heard = self._told = self._number
        self.welcome(member, others)
        self.patient = patient  # whoever seats a member asks `flush_to` for its welcome
        # A place that is taken over is no news, unless who has it may now send something else.
        if before is None or before.text != member.text:
            self._present("join", member)
        if before is None:
            self._asked.joined(member.id)
        return before

    def leave(self, member: Member) -> bool:
        """Let somebody go and tell the others. False where it was not here any more."""
        if not member.is_here:
            return False
        del self.members[member.id]
        member.is_here = False
        self._asked.left(member.id)
        self._present("leave", member)
        return True

    def welcome(self, member: Member, others: Iterable[Member] | None = None) -> None:
        """Tell a member who it is, what it may send, and who else is here (MCPx §3.5.1). Sent again when its
        capabilities change: they are authoritative (§6.2)."""
        if others is None:
            others = [one for one in self.members.values() if one is not member]
        payload = welcome_payload(member.text, [one.text for one in others])
        self._say("system/welcome", payload, only=member)

    def allow(self, member: Member, capabilities: Sequence[str]) -> None:
        """From now on it may send these kinds. The others hear so as well: by that they know whose word about a proposal counts."""
        before = member.text
        member.allow(capabilities)
        self.welcome(member)
        if member.text != before:
            self._present("join", member)

    def _present(self, event: Literal["join", "leave"], member: Member) -> None:
        payload = presence_payload(event, member.id, member.text)
        told = event == "join" and self.bounds.presence_to_joiner
        patient = self.patient
        self._say("system/presence", payload, skip=None if told else member)
        self.patient = patient

    # -- what they say

    def judge(self, member: Member, text: bytes, now: float) -> Envelope | No:
        """Whether a message may pass: the envelope, or why not. `now` is monotonic seconds."""
        limit = self.bounds.message_bytes
        # Before the text is read: what is dropped for its rate costs nothing.
        if member.limited and not member.may_send(now, self.bounds, len(text)):
            return self._too_many(member, text)
        member.dry = False
        if len(text) > limit:
            said = f"a message may have {limit} bytes; send less at once"
            return No("payload_too_large", said, _about(text))
        envelope = read(text)
        if isinstance(envelope, Flaw):
            return No(envelope.error, envelope.message, envelope.id)
        return self._judge(member, envelope) or envelope

    def _judge(self, member: Member, envelope: Envelope) -> No | None:
        ident, kind = envelope.id, envelope.kind
        if envelope.sender != member.id:
            said = f"from must be your participant id, {member.id!r}"
            return No("auth_violation", said, ident, kind)
        if not member.capabilities.allows(kind):
            why = "; only the gateway sends that" if is_reserved(kind) else ""
            return No("capability_violation", f"You lack capability for '{kind}'{why}", ident, kind)
        if (
            self.bounds.strict_proposals
            and envelope.correlation_id is not None
            and kind.startswith("mcp/proposal:")
        ):
            said = "a proposal begins something new and has no correlation_id"
            return No("invalid_envelope", said, ident, kind)
        why = self._asked.objection(envelope)
        return No("auth_violation", why, ident, kind) if why else None

    def _too_many(self, member: Member, text: bytes) -> No:
        if member.dry:
            return No("", "")  # it was told, and what it sends meanwhile is dropped
        member.dry = True
        bounds = self.bounds
        rate = f"{bounds.messages_per_s:g} messages and {bounds.bytes_per_s:g} bytes a second"
        said = f"you may send {rate}; wait, messages are dropped until then"
        return No("rate_limited", said, _about(text))

    def route(self, member: Member, envelope: Envelope) -> None:
        """Pass a message on, as it came."""
        self._asked.note(envelope)
        to = envelope.to
        if to and not member.limited and envelope.kind == "chat":
            self._tell_apart(member, envelope)
            return
        proposer = self._asked.proposer(envelope) if to else None
        if proposer is not None:
            to = (*to, proposer)
        self._put(envelope.text, by=member, to=to, skip=None if member.echo else member)

    def _tell_apart(self, member: Member, envelope: Envelope) -> None:
        """What the gateway's own participants tell somebody by name, nobody else hears: it can be what somebody may do and others not."""
        for name in dict.fromkeys(envelope.to):
            one = self.members.get(name)
            if one is not None:
                self._put(envelope.text, by=member, only=one)

    def refuse(self, member: Member, no: No) -> None:
        """Tell a sender why its message goes nowhere, and perhaps the others that it tried (MCPx §6.4)."""
        if not no.error:
            return
        capabilities = member.capabilities.patterns if no.error == "capability_violation" else None
        payload = error_payload(no.error, no.message, no.kind, capabilities)
        self._say("system/error", payload, only=member, about=no.id)
        if self.bounds.violation_notice and no.error == "capability_violation":
            self._say("system/error", notice_payload(member.id, no.kind or ""), skip=member)

    # -- what leaves

    def _say(
        self,
        kind: str,
        payload: bytes,
        *,
        only: Member | None = None,
        skip: Member | None = None,
        about: str | None = None,
    ) -> None:
        id, ts = self._stamp()
        text = compose(
            id=id,
            ts=ts,
            sender=GATEWAY,
            to=() if only is None else (only.id,),
            kind=kind,
            correlation_id=about,
            payload=payload,
        )
        self._put(text, only=only, skip=skip)

    def _put(
        self,
        text: bytes,
        *,
        to: tuple[str, ...] = (),
        only: Member | None = None,
        skip: Member | None = None,
        by: Member | None = None,
    ) -> None:
        self._number += 1
        self.patient = False
        message = Message(self._number, text, to, only, skip, by)
        self.waiting += message.weight
        self._out.append(message)

    def flush_to(self, member: Member) -> Batch:
        """What waits for one member, before the others get theirs; nothing while somebody's new mode waits for them (`prefer`)."""
        self._change()
        if self._changes:
            return Batch(())
        batch = Batch([one for one in self._out if one.is_for(member)])
        member.heard = self._told = self._number
        # Its welcome can be as long as all that waits for the others: kept, it would make that leave.
        self._out = [one for one in self._out if one.only is not member]
        self.waiting = sum([one.weight for one in self._out])
        return batch

    def prefer(self, member: Member, mode: Mode) -> None:
        """From the next message on it is routed to so; what waits, and what is on its way, comes by its former mode."""
        member.wanted = mode
        self._changes[self._number, member] = mode
        self.patient = self.patient and not self._out

    def _change(self) -> None:
        """New modes before which nothing waits any more hold."""
        first = self._out[0].number if self._out else self._number + 1
        for key in list(self._changes):
            number, member = key
            if number >= first:
                return
            member.mode = self._changes.pop(key)

    def _taken(self) -> list[Message]:
        """What leaves next: all that waits, or the first of it as far as it weighs `PIECE_BYTES`, or up to a new mode."""
        self._change()
        if self.waiting <= PIECE_BYTES and not self._changes:
            out, self._out = self._out, []
        else:
            count = self._piece()
            out, self._out = self._out[:count], self._out[count:]
        if self._out:
            self.waiting -= sum(one.weight for one in out)
        else:
            self.waiting, self.patient = 0, True
        return out

    def _piece(self) -> int:
        until = next(iter(self._changes), (self._number, None))[0]
        count = weight = 0
        for one in self._out:
            # What is for one alone costs all the others nothing: a thousand welcomes leave together.
            weight += one.weight if one.only is None else 0
            if count and (weight > PIECE_BYTES or one.number > until):
                break
            count += 1
        return count

    def flush(self) -> Generator[None, None, list[tuple[Batch, list[Member]]]]:
        """In small steps: what leaves next, and for whom. Every member is in one batch at most. The next flush begins when all of
        this one is delivered."""
        out, told, every = self._taken(), self._told, list(self.members.values())
        return (yield from parted(out, every, told)) if out else []


def _about(text: bytes) -> str | None:
    """The id of a message that goes nowhere, where it costs nothing to find out."""
    return read(text).id if len(text) <= _READ_ANYWAY else None

"""`Participant` of one room, without transport: sends messages, answers requests, awaits responses, tracks proposals and the roster.

`send` takes the text of each envelope, `receive` is given each one that arrives, `lost` the end.
What the gateway does not check is checked here (MCPx §4.3): that a payload is what its kind says. What it hears of
itself, and what is put to others, it only watches.

A request is answered where it is addressed to this participant. One that is addressed to nobody in particular goes to
everybody, so it is answered only where it asks what somebody can do. The answer goes to who asked and, where the request
fulfils a proposal, to who proposed it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.capabilities import Capabilities
from gatewright.mcpx.envelope import Envelope, Flaw, compose, read
from gatewright.mcpx.payload import (
    Chat,
    Content,
    Operation,
    Proposed,
    Requested,
    Responded,
    Said,
    Unfit,
    examine,
    kind_of,
)
from gatewright.rooms.participants.answering import Answering, Responder
from gatewright.rooms.participants.awaited import Awaited
from gatewright.rooms.participants.conduct import Conduct
from gatewright.rooms.participants.deduplication import HARMLESS, HEARD, Once
from gatewright.rooms.participants.errors import (
    AnswerTimeoutError,
    GoneError,
    NotAllowedError,
    NotFulfillableError,
    RoomError,
    RoomRefusedError,
)
from gatewright.rooms.participants.proposals import EXPIRES_S, Ledger, Pending, Proposal
from gatewright.rooms.participants.roster import Roster

__all__ = ["ANSWER_S", "Heard", "Participant", "understood"]

log = logging.getLogger("gatewright.rooms.participants")

ANSWER_S = 30.0


class Heard(msgspec.Struct, frozen=True):
    """A message and what it says."""

    envelope: Envelope
    content: Content | Unfit


def understood(text: bytes) -> Heard | Flaw:
    """A message, and what it says; or why it is none."""
    envelope = read(text)
    return envelope if isinstance(envelope, Flaw) else Heard(envelope, examine(envelope))


class Participant:
    """See the module's text. Belongs to one event loop."""

    def __init__(
        self,
        send: Callable[[bytes], None],
        *,
        responder: Responder | None = None,
        conduct: Conduct | None = None,
        report_to: str | None = None,
        clock: Callable[[], float] = time.time,
        fresh: Callable[[], str] = lambda: str(uuid.uuid4()),
        expires_s: float = EXPIRES_S,
    ) -> None:
        """`responder` answers MCP requests; without it every request is answered with an error. `report_to` is the
        participant that is told, by chat, of others who send what nobody may act upon. `clock` gives Unix seconds."""
        self._send = send
        self._answering = Answering(responder, send=self._answer, name=lambda: self.id)
        self._requests = Awaited()
        self._report_to = report_to
        self._clock = clock
        self._fresh = fresh
        self.roster = Roster(self._requests.left, self._gone, self._answering.left)
        self.conduct = conduct or Conduct()
        there, may = self.roster.has, self.roster.may
        self.proposals = Ledger(clock=clock, expires_s=expires_s, there=there, may=may)
        self._once = Once(self.proposals, there)
        self.watchers: list[Callable[[Heard], None]] = []
        """Told of every message, also of those that are put to others."""
        self._proposed = Awaited()
        self._welcomed = asyncio.Event()
        self._lost: str | None = None
        self._over = asyncio.Event()

    @property
    def id(self) -> str:
        """Who this is, once the gateway has said so."""
        return self.roster.id

    @property
    def capabilities(self) -> Capabilities:
        """What this participant may send."""
        return self.roster.capabilities

    def _gone(self, name: str) -> None:
        for one in self.proposals.left(name):
            self._proposed.fail(one.id, GoneError(one.reason))

    # -- what arrives

    def receive(self, text: bytes) -> None:
        """Take one message. Total: whatever comes, nothing is raised."""
        self.hear(understood(text))

    def hear(self, heard: Heard | Flaw) -> None:
        """The same of one that was read already (`understood`)."""
        if isinstance(heard, Flaw):
            log.debug("a message that is no envelope was dropped: %s", heard.message)
            return
        envelope, content = heard.envelope, heard.content
        try:
            if isinstance(content, Said):
                self._said(envelope, content)
            elif envelope.sender != self.id and not self.conduct.is_ignored(envelope.sender):
                self._heard(envelope, content)
        except RoomError as problem:  # what would have been said to it
            log.debug("nothing was said to a message of %s: %s", envelope.sender, problem)
        for watcher in list(self.watchers):
            try:
                watcher(heard)
            except Exception:  # a bug of one who watches costs nobody their place
                log.exception("a watcher broke on a message of %s", envelope.sender)

    def lost(self, reason: str) -> None:
        """The place is gone: whatever is waited for ends."""
        self._lost = reason
        self._welcomed.set()
        self._over.set()
        self._answering.end()
        problem = GoneError(f"the place in the room is lost: {reason}")
        self._requests.lose(problem)
        self._proposed.lose(problem)

    def _heard(self, envelope: Envelope, content: Content | Unfit) -> None:
        if isinstance(content, Unfit):
            self._unfit(envelope, content)
        elif isinstance(content, Requested):
            self._requested(envelope, content)
        elif isinstance(content, Responded):
            self._responded(envelope, content)
        elif isinstance(content, Proposed):
            said, size = content.operation, len(envelope.payload)
            found = self.proposals.open(envelope.id, envelope.sender, said, envelope.to, size)
            self._decided(found)
        elif isinstance(content, Chat):
            about = envelope.correlation_id
            self._decided(self.proposals.hear(about, envelope.sender, content))

    def _decided(self, found: Proposal | None) -> None:
        if found is not None and found.rejection:
            self._end(found.id, NotFulfillableError(found.rejection))

    def _said(self, envelope: Envelope, said: Said) -> None:
        if self.roster.take(envelope, said):
            self._welcomed.set()
        elif said.what == "error" and envelope.correlation_id is not None:
            payload = said.payload
            error = RoomRefusedError(str(payload.get("error")), str(payload.get("message")))
            self.proposals.reopen(envelope.correlation_id)
            self._end(envelope.correlation_id, error)
            self._answering.refused(envelope.correlation_id, str(error))

    def _unfit(self, envelope: Envelope, flaw: Unfit) -> None:
        self.conduct.count(envelope.sender, self._tell_on)
        log.debug("a message of %s was dropped: %s", envelope.sender, flaw.message)
        if flaw.ident is not None and self.id in envelope.to:
            error = jsonrpc.error(flaw.ident, (-32600, flaw.message))
            self._answering.answer(envelope, flaw.ident, error)

    def _tell_on(self, sender: str, count: int) -> None:
        if self._report_to is not None and self.capabilities.allows("chat"):
            times = "a message" if count == 1 else f"{count} messages"
            self.chat(f"{sender} has sent {times} that nobody may act upon", to=[self._report_to])

    def _requested(self, envelope: Envelope, request: Requested) -> None:
        operation, about = request.operation, envelope.correlation_id
        mine = self.id in envelope.to or (not envelope.to and operation.method in HARMLESS)
        if mine and not self._once.is_new(envelope, request):
            self._take(envelope, request, HEARD)
            return
        flaw = self._once.flaw(envelope, request)  # before `fulfil` takes the proposal
        self.proposals.fulfil(about, envelope.id, envelope.sender, operation, envelope.to)
        if mine:
            self._take(envelope, request, flaw)

    def _take(self, envelope: Envelope, request: Requested, flaw: str) -> None:
        found = self.proposals.fulfilled_by(envelope.id)
        proposed = found is not None and not found.away
        self._answering.take(envelope, request, flaw, proposed=proposed)

    def _answer(self, envelope: Envelope, payload: bytes) -> str | None:
        kind = "mcp/response" + envelope.kind.removeprefix("mcp/request")
        if not self.capabilities.allows(kind):
            log.warning("%s may not send %s; the request stays unanswered", self.id, kind)
            return None
        to = [envelope.sender] if envelope.sender else []  # or it has left
        proposal = self.proposals.fulfilled_by(envelope.id)
        if proposal is not None and proposal.proposer not in to:
            to += [] if proposal.away else [proposal.proposer]
        try:  # to nobody it would be for everybody
            id = self._put(kind, payload, to, envelope.id) if to else None
        except GoneError:
            return None
        self.proposals.answer_text(envelope.id, id or "", self.id, payload)
        return id

    def _responded(self, envelope: Envelope, said: Responded) -> None:
        about = envelope.correlation_id or ""
        done = self.proposals.answer(about, envelope.id, envelope.sender, said)
        if done is not None:
            self._proposed.answer(done.id, envelope.sender, said)
        self._requests.answer(about, envelope.sender, said)

    def _end(self, id: str, problem: RoomError) -> None:
        self._requests.fail(id, problem)
        self._proposed.fail(id, problem)

    # -- what leaves

    async def welcomed(self, *, timeout_s: float = 10.0) -> None:
        """Wait until the gateway has said who this is. Raises `AnswerTimeoutError` or `GoneError`."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._welcomed.wait()
        except TimeoutError:
            said = f"the gateway sent no welcome within {timeout_s:g} s"
            raise AnswerTimeoutError(said) from None
        if self._lost is not None:
            raise GoneError(f"the place in the room is lost: {self._lost}")

    async def until_lost(self) -> None:
        """Wait until the place is lost. Raises `GoneError`."""
        await self._over.wait()
        raise GoneError(f"the place in the room is lost: {self._lost}")

    def say(
        self, kind: str, payload: bytes, *, to: Sequence[str] = (), about: str | None = None
    ) -> str:
        """Send one message, whose id is the result. `payload` is the JSON text of an object; `about` becomes its
        `correlation_id`. Raises `NotAllowedError` for a kind that this participant may not send, and `GoneError`."""
        if not self.capabilities.allows(kind):
            raise NotAllowedError(kind, self.capabilities.patterns)
        return self._put(kind, payload, to, about)

    def _put(self, kind: str, payload: bytes, to: Sequence[str], about: str | None) -> str:
        if self._lost is not None:
            raise GoneError(f"the place in the room is lost: {self._lost}")
        id = self._fresh()
        now = datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")
        ts = now.removesuffix("+00:00") + "Z"
        said = {"id": id, "ts": ts, "sender": self.id, "kind": kind}
        self._send(compose(**said, payload=payload, to=to, correlation_id=about))
        return id

    def chat(
        self,
        text: str,
        *,
        markdown: bool = False,
        to: Sequence[str] = (),
        about: str | None = None,
    ) -> str:
        """Say something to people; the id of the message. Raises `NotAllowedError`."""
        payload = {"text": text, "format": "markdown" if markdown else "plain"}
        return self.say("chat", jsonrpc.encode(payload), to=to, about=about)

    def notify(self, to: str, method: str, params: dict[str, Any] | None = None) -> str:
        """Send an MCP notification. Raises `NotAllowedError`."""
        operation = Operation(method, params or {})
        payload = jsonrpc.notification(method, operation.params)
        return self.say(kind_of("mcp/request", operation), payload, to=[to])

    async def request(
        self,
        to: str,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout_s: float = ANSWER_S,
        about: str | None = None,
    ) -> Any:
        """Ask another participant, and wait for its result. It is told when nobody waits any more; not where this fulfils a
        proposal, whose proposer waits. Raises `NotAllowedError`, `RoomRefusedError`, `CallError`, `AnswerTimeoutError`,
        `GoneError`."""
        operation = Operation(method, params or {})
        ident = jsonrpc.encode(self._fresh())
        payload = jsonrpc.request(ident, method, operation.params)
        id = self.say(kind_of("mcp/request", operation), payload, to=[to], about=about)
        if about is not None:
            self.proposals.fulfil(about, id, self.id, operation, [to])
        future = self._requests.expect(id, [to])
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError:
            said = f"{to} did not answer {method} within {timeout_s:g} s"
            raise AnswerTimeoutError(said) from None
        finally:
            self._requests.forget(id)
            if future.cancelled() and about is None and method != "initialize":
                self._give_up(to, ident)

    def _give_up(self, to: str, ident: bytes) -> None:
        """Tell who was asked that it need not go on. MCP has that for everything but the handshake."""
        with contextlib.suppress(RoomError):
            self.notify(to, "notifications/cancelled", {"requestId": jsonrpc.decode(ident)})

    def propose(
        self, method: str, params: dict[str, Any] | None = None, *, to: Sequence[str] = ()
    ) -> Pending:
        """Propose an operation to who may fulfil it; `to` is who shall do it. Raises `NotAllowedError`."""
        operation = Operation(method, params or {})
        payload = jsonrpc.encode({"method": method, "params": operation.params})
        id = self.say(kind_of("mcp/proposal", operation), payload, to=to)
        proposal = self.proposals.open(id, self.id, operation, to, len(payload))
        self._proposed.expect(id, to)
        return Pending(proposal, outcome=self._outcome, decline=self.decline)

    async def fulfil(self, id: str, *, to: str | None = None, timeout_s: float = ANSWER_S) -> Any:
        """Make the operation that a proposal asks for, and wait for its result. `to` says who shall do it, where the
        proposal does not. Raises `NotFulfillableError`, and what `request` raises."""
        proposal = self.proposals.find(id)
        if proposal is None:
            raise NotFulfillableError(f"no proposal {id!r} was heard of; its id is its envelope's")
        if not self.proposals.is_open(proposal):
            raise NotFulfillableError(f"the proposal is {proposal.state}; ask for a new one")
        target = to or proposal.target
        if target is None:
            several = ", ".join(sorted(proposal.named)) or "everybody"
            raise NotFulfillableError(f"the proposal was put to {several}; say who shall do it")
        if not proposal.may_do([target], self.id):
            raise NotFulfillableError(
                f"the proposal was not put to {target}; nobody else can do it"
            )
        operation = proposal.operation
        method, params = operation.method, operation.params
        return await self.request(target, method, params, timeout_s=timeout_s, about=id)

    def decline(self, id: str, reason: str = "") -> str:
        """Reject a proposal, or withdraw one's own; by a chat message that names it. Raises `NotFulfillableError` where it
        is not open, or another's to reject, and `NotAllowedError`."""
        proposal = self.proposals.find(id)
        if proposal is None or not self.proposals.is_open(proposal):
            state = "unknown" if proposal is None else proposal.status
            raise NotFulfillableError(f"the proposal is {state}; there is nothing to decide")
        word = self.proposals.word_of(proposal, self.id)
        if not word:
            raise NotFulfillableError(
                "it is rejected by those who are to do it, or who may ask for it"
            )
        text = f"{word}: {reason}" if reason else word
        sent = self.chat(text, about=id)
        self.proposals.hear(id, self.id, Chat(text))
        return sent

    async def _outcome(self, proposal: Proposal, timeout_s: float) -> Any:
        future = self._proposed.find(proposal.id)
        if future is None:
            raise NotFulfillableError(f"the proposal is {proposal.status} already")
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(future)
        except TimeoutError:
            if self.proposals.is_open(proposal) and self.capabilities.allows("chat"):
                self.decline(proposal.id, f"nobody fulfilled it within {timeout_s:g} s")
            raise AnswerTimeoutError(f"nobody fulfilled it within {timeout_s:g} s") from None
        except asyncio.CancelledError:
            # Else somebody could do what nobody wants any more.
            if self.proposals.is_open(proposal):
                with contextlib.suppress(RoomError):
                    self.decline(proposal.id, "who proposed it gave up")
            raise
        finally:
            self._proposed.forget(proposal.id)

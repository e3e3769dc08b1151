"""`ServedRequest`: runs a client's request through the kernel; sends events, answer, questions; suspends and resumes modern calls; cancels.

A `ServedRequest` is the kernel's `Back` for one call. Towards a legacy host a question is a request on the call's own channel.
Towards a modern host it cannot be: the call is *parked*, the host is answered `input_required` with a sealed handle, and the
repeated request with the answers takes the call up again. The kernel notices none of that, and waits for its answer in both.

The request to be answered next has the *seat*: the first request until it is answered, none while the call is parked, then the
request that takes it up. Only the request that has the seat can cancel the call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from gatewright.call import (
    RECONNECT,
    Answer,
    Call,
    CannotAsk,
    Client,
    Event,
    Failure,
    Outcome,
    Question,
)
from gatewright.chunk_way import ChunkEnd
from gatewright.mcp.protocol import input_required, outcomes
from gatewright.mcp.protocol.ended_calls import given_up, marked, revoked
from gatewright.mcp.protocol.mcp_server import Conversation, Inbound, can_answer, request_key
from gatewright.mcp.server.pending_input import PENDING_S, KeptEvents, PendingInputs
from gatewright.mcp.server.sealed_state import resealed, state_of
from gatewright.mcp.server.server_context import Answering, InTask, Reply, Running, ServerContext
from gatewright.mcp.server.server_events import chunk_end_of, wanted
from gatewright.mcp.server.url_elicitations import pages
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import is_modern

__all__ = ["Host", "ServedRequest", "broken"]

log = logging.getLogger("gatewright.mcp.server")
_ASKING: set[asyncio.Task[None]] = set()

_BROKEN = "internal error; the details are in the gateway's log"
_TOO_LONG = (
    "the answer came while nobody waited, and is too long to be kept beside others of this caller"
)


class Host(Protocol):
    """Whose requests they are (`client_session.ClientSession`)."""

    front: ServerContext
    parked: PendingInputs[ServedRequest]
    conversation: Conversation
    running: dict[bytes, Running]
    """What the host can cancel, by the key of the request."""
    shown: Any  # who came last, and with what (`Presented`)
    asks: dict[bytes, tuple[asyncio.Future[Any], Any]]
    """Questions on their way to a legacy host, by id, with who is asked; shared with whoever reads its answers."""
    hearing: dict[str, tuple[Callable[[dict[str, Any]], None], Any]]
    """Who hears how far the host is with a question, by the token that the question has here, with who is asked."""

    def call(self, inbound: Inbound, shown: Any = None) -> Call:
        """The call a request asks for."""

    def asked(self, question: Question) -> None:
        """Remember what the host is asked, where it is to hear more of it."""


def broken(client: Client | None) -> outcomes.Spelled:
    """A defect of ours is answered, too."""
    return outcomes.spell_error(jsonrpc.INTERNAL_ERROR, _BROKEN, client, http=500)


class ServedRequest:
    """One running call; see the module's text."""

    # Most calls ask nothing and are never parked: what only those need begins here, once for all.
    _call: Call | None = None
    _served: InTask | asyncio.Task[Any] | None = None
    """While its call is walked: what knows the task that does so, or that task."""
    cancelled = False
    _handle: str | None = None
    _aside = b"parked"
    """What it runs under while no request has the seat: the id of none, so that each is free after its answer."""
    _questions: Mapping[str, tuple[Question, asyncio.Future[Any]]] = MappingProxyType({})
    _count = 0
    _asking: asyncio.Task[None] | None = None
    _kept: KeptEvents | None = None
    outcome: outcomes.Spelled | None = None
    answered = False
    """Whether the call has ended with a result."""
    _over: asyncio.Future[None] | None = None
    """Where somebody waits for the end of the request that has the seat."""

    def __init__(self, host: Host, inbound: Inbound, reply: Reply) -> None:
        self._host = host
        self.shown = host.shown  # not of whoever comes while it waits
        self._inbound = inbound
        """The request that came last; of a parked exchange, the one that was answered last."""
        self._whole = reply.whole
        self._seat: Reply | None = reply
        """Where that request is answered; None where it has been."""

    async def run(self, key: bytes, call: Call | None = None, said: Outcome | None = None) -> None:
        """Walk the call (or one begun, perhaps ended as `said`) and answer it; then it is not what runs under `key`. Raises only its cancellation by others than its caller."""
        host, front = self._host, self._host.front
        outcome: Outcome | None = None
        unrecorded: Outcome | None = None
        self._served = self._whole or asyncio.current_task()  # to ask is a call of the system
        try:
            try:
                if not front.settled:  # what is still starting is not missing
                    front.settled = await front.upstream.settled()
                if not self.cancelled:
                    self._call = call = call or host.call(self._inbound, self.shown)
                    outcome = said or await front.kernel.handle(call, self)
                    if not self._said(outcome):
                        await self._answer(front, call, outcome)
            except asyncio.CancelledError as stopped:
                if not self._given_up():
                    self._release()
                    raise
                unrecorded = given_up(self._call, stopped)
            self._served = None
            if self.cancelled:
                await self._abandon(unrecorded)
        except Exception:
            log.exception("a request could not be served")
            await self._broke()
        finally:
            self._end(key)
        self.answered = type(outcome) is Answer

    def _end(self, key: bytes) -> None:
        running = self._host.running
        if running.get(key) is self:
            del running[key]
        if self._handle is not None:
            running.pop(self._aside, None)

    def cancel(self, ident: bytes | None = None) -> None:
        """End the call: its caller gave up on the request `ident`, and that still waits; or went away altogether."""
        if ident is not None and request_key(self.waits_as) != request_key(ident):
            return
        if not self.cancelled:
            self.cancelled = True
            if (task := self._own_task()) is not None:
                task.cancel()

    def _own_task(self) -> asyncio.Task[Any] | None:
        served = self._served
        return served if served is None or isinstance(served, asyncio.Task) else served.task

    def _given_up(self) -> bool:
        """Whether a cancellation of its task was its caller's, and nobody else's."""
        task = self._own_task()
        return self.cancelled and task is not None and task.uncancel() == 0

    def _said(self, outcome: Outcome) -> bool:
        """Whether these were the last words: the result of a call that was never parked, nearly as its server gave it."""
        seat, inbound = self._seat, self._inbound
        if type(outcome) is not Answer or seat is None or self._handle is not None:
            return False  # a legacy request may take up a call
        said = outcomes.plain(outcome, inbound.method, inbound.client, self._host.front.tail)
        if said is None or not seat.say(inbound.id, said):
            return False
        self._seat = None
        return True

    def _answer(self, front: ServerContext, call: Call, outcome: Outcome) -> Answering:
        """The last words to who has the seat; where nobody has, they are kept for who comes back in time."""
        inbound, seat = self._inbound, self._seat
        client = inbound.client
        if type(outcome) is Answer and outcome.modern and is_modern(client.revision):
            outcome = resealed(front, call, outcome)
        if type(outcome) is not Answer:
            for page in pages(outcome):
                self._host.asked(page)
        if self._kept is not None and revoked(outcome):
            self._kept.refused()
        spelled = outcomes.spell(outcome, inbound.method, client, call.trace_id, front.info)
        if seat is None and not self._host.parked.keep(self._handle, len(spelled.result)):
            spelled = self._instead(call, "output_invalid", _TOO_LONG)
        return self._last(spelled)

    async def _last(self, spelled: outcomes.Spelled) -> None:
        seat = self._seat
        if seat is None:
            self.outcome = spelled
            return
        if self._handle is not None:
            self._release()
        await self._leave(seat.finish(self._inbound.id, spelled))

    def _instead(self, call: Call, reason: str, why: str) -> outcomes.Spelled:
        """What is said in place of the answer to a call that may have been carried out: nobody is to make it again for that (0039)."""
        inbound, info = self._inbound, self._host.front.info
        failure = marked(call, Failure(reason, why))
        return outcomes.spell(failure, inbound.method, inbound.client, call.trace_id, info)

    def _leave(self, words: Answering) -> Answering:
        """Empty the seat with the last words to who has it. Its request is answered once they are handed over, however long it takes
        until they have left: from then on its client may use the id again."""
        self._seat = None
        key, running = request_key(self._inbound.id), self._host.running
        if running.get(key) is self:
            del running[key]
        if self._over is None:
            return words
        over, self._over = self._over, None
        return _then(words, over)

    async def _abandon(self, unrecorded: Outcome | None) -> None:
        self._release()
        if self._seat is None:
            return
        why, inbound, call = None, self._inbound, self._call
        if unrecorded is not None and call is not None:
            info = self._host.front.info
            why = outcomes.spell(unrecorded, inbound.method, inbound.client, call.trace_id, info)
        await self._leave(self._seat.abandon(inbound.id, why))

    async def _broke(self) -> None:
        call, client = self._call, self._host.conversation.client
        said = broken(client) if call is None else self._instead(call, "internal", _BROKEN)
        await self._last(said)

    def _step_aside(self) -> None:
        key, running = request_key(self._inbound.id), self._host.running
        if running.get(key) is self:
            running[self._aside] = running.pop(key)

    def _release(self) -> None:
        self._host.parked.release(self._handle or "")

    # -- events

    @property
    def behind(self) -> int:
        """Bytes that the caller has not taken yet of what it was sent."""
        return 0 if self._seat is None else self._seat.behind

    @property
    def waits_as(self) -> bytes:
        """The id of the request that has the seat; empty while none has."""
        return b"" if self._seat is None else self._inbound.id

    def emit(self, event: Event) -> None:
        """Send one event, where the caller wants such events at all."""
        seat = self._seat
        if seat is None:
            self._kept = self._kept or KeptEvents(self._host.front.queue_bytes)
            self._kept.add(event)
        elif event.method == RECONNECT:
            seat.reconnect(int(event.params.get("retry_ms", 1000)))
        elif (params := wanted(event, self._inbound, self._host.conversation)) is not None:
            seat.event(jsonrpc.notification(event.method, params))

    def chunk_end(self) -> ChunkEnd | None:
        """Where its plain chunks leave (`HasChunkEnd`)."""
        return chunk_end_of(self._seat, self._inbound, lambda: self._seat)

    # -- questions

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller and wait for its answer. Raises `CannotAsk`."""
        call, method = self._call, question.method
        if not can_answer(self._inbound.client, method):
            raise CannotAsk(f"the caller's client did not declare that it answers {method}")
        if is_modern(self._inbound.client.revision):
            return await self._ask_parked(question)
        if call is None or call.session is None:
            raise CannotAsk("the caller has no session, and so no way to answer", -32000)
        return await self._ask_now(question)

    async def _ask_now(self, question: Question) -> dict[str, Any]:
        seat = self._seat
        if seat is None:
            raise CannotAsk("the call is over", -32000)
        host, progress = self._host, question.progress
        ident, frame = host.conversation.ask(question, host.front.random)
        if progress is not None:
            self._host.hearing[jsonrpc.decode(ident)] = progress, self.shown
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._host.asks[ident] = answer, self.shown
        reason = "the call ended"
        try:
            self._host.asked(question)
            if not seat.event(frame):
                raise CannotAsk("the caller has no stream that it may go on", -32000)
            async with asyncio.timeout(PENDING_S):
                return await answer
        except TimeoutError:
            reason = "nobody answered in time"
            raise CannotAsk("the caller did not answer in time", -32000) from None
        finally:
            del self._host.asks[ident]
            self._host.hearing.pop(jsonrpc.decode(ident), None)
            # Nobody takes the answer any more, and the host may still show its question.
            if not answer.done() or answer.cancelled():
                gone = {"requestId": jsonrpc.decode(ident), "reason": reason}
                seat.recall(jsonrpc.notification("notifications/cancelled", gone))

    async def _ask_parked(self, question: Question) -> dict[str, Any]:
        if self._handle is not None and self._host.parked.find(self._handle) is None:
            raise CannotAsk("the caller never came back with an answer", -32000)
        if self._handle is None:
            owner = self._call.caller.who if self._call is not None else None
            self._handle = self._host.parked.admit(self, owner)
            self._aside = f"parked {self._handle}".encode()
        self._count += 1
        key = question.key or f"q{self._count}"
        if key in self._questions:
            raise CannotAsk(f"there is a question {key!r} already, which nobody has answered yet")
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions = {**self._questions, key: (question, answer)}
        self._ask_soon()
        try:
            async with asyncio.timeout(PENDING_S):
                return await answer
        except TimeoutError:
            raise CannotAsk("the caller never came back with an answer", -32000) from None
        finally:
            self._questions = {name: one for name, one in self._questions.items() if name != key}

    def _ask_soon(self) -> None:
        """Answer `input_required` once what is ready in this turn of the loop has asked, too."""
        if self._asking is None or self._asking.done():
            self._asking = asking = asyncio.create_task(self._interim())
            _ASKING.add(asking)  # also while it sends, when another may be made
            asking.add_done_callback(_ASKING.discard)

    async def _interim(self) -> None:
        call, front, handle, seat = self._call, self._host.front, self._handle, self._seat
        wanted = {key: one for key, (one, answer) in self._questions.items() if not answer.done()}
        if not wanted or seat is None or call is None or handle is None:
            return
        self._host.parked.extend(handle)
        result = input_required.interim_result(wanted, state_of(front, call, handle), front.info)
        # Before the answer leaves: its client may use the id again as soon as it has that, and be asked again.
        self._step_aside()
        self._asking = None
        try:
            await self._leave(seat.finish(self._inbound.id, outcomes.Spelled(result)))
        except Exception:
            log.exception("call %s: the caller could not be asked", call.id)

    def resume(self, inbound: Inbound, reply: Reply) -> Answering:
        """Take the exchange up again for a repeated request, which has the seat from now on. What
        comes back ends when the request is answered, by the call's end or its next question."""
        if self._seat is not None:
            return reply.finish(inbound.id, _BUSY)
        self._seat, self._inbound = reply, inbound
        self._host.parked.taken_up(self._handle)
        self._over = over = asyncio.get_running_loop().create_future()
        # At once: what is asked in this turn of the loop may be put before the rest of this runs.
        kept, self._kept = self._kept, None
        for event in kept.taken() if kept is not None else ():
            self.emit(event)
        self._take(inbound.params.get("inputResponses"))
        return self._resumed(inbound, reply, over)

    async def _resumed(self, inbound: Inbound, reply: Reply, over: asyncio.Future[None]) -> None:
        # Where something was asked in between, this request has been answered with that, and another one is to come.
        if self.outcome is not None and self._seat is reply:
            self._release()
            await self._leave(reply.finish(inbound.id, self.outcome))
            return
        if any(not answer.done() for _, answer in self._questions.values()):
            self._ask_soon()  # what was not answered is asked again
        try:
            await over
        except asyncio.CancelledError:
            self.cancel(inbound.id)
            raise

    def _take(self, answers: Any) -> None:
        for key, answer in answers.items() if isinstance(answers, dict) else ():
            waiting = self._questions.get(key)
            if waiting and isinstance(answer, dict) and not waiting[1].done():
                waiting[1].set_result(answer)


async def _then(words: Answering, over: asyncio.Future[None]) -> None:
    """Say the words, and tell who waits for that."""
    try:
        await words
    finally:
        if not over.done():
            over.set_result(None)


_BUSY = outcomes.Spelled(
    error=b'{"code":-32600,"message":"this request is being repeated already"}', http=400
)

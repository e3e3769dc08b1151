"""One request's way through the kernel, and what travels back while it runs.

An `Exchange` is the kernel's `Back` for one call. Towards a legacy host a question is a request on the
call's own channel. Towards a modern host it cannot be: the exchange is *parked*, the host is answered
`input_required` with a sealed handle, and the repeated request with the answers takes the exchange up
again. The call inside the kernel notices none of that: it waits for its answer in both eras.

Whoever is to be answered next has the *seat*: the first request until it is answered, nobody while the
exchange is parked, then the request that takes it up. Only who has the seat can cancel the call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from types import MappingProxyType
from typing import Any, Protocol

import msgspec

from gatewright.call import RECONNECT, Answer, Call, CannotAsk, Client, Event, Outcome, Question
from gatewright.protocol import eras, verdicts
from gatewright.protocol.mcp_server import Conversation, Inbound, can_answer, request_key
from gatewright.serving.front import Front
from gatewright.serving.parked import PARKED_S, Parked
from gatewright.wire import jsonrpc
from gatewright.wire.versions import is_modern

__all__ = ["Exchange", "Reply", "hears"]

log = logging.getLogger("gatewright.serving")

_MGP_NEEDS = {
    "stream": "streaming",
    "event": "bidirectional",
    "callback": "bidirectional",
    "lifecycle": "lifecycle",
    "audit": "audit",
}


def hears(client: Client, method: str) -> bool:
    """Whether a notification may go to this client: MGP's only to who negotiated that part of it."""
    if not method.startswith("notifications/mgp."):
        return True
    need = _MGP_NEEDS.get(method.split(".")[1])
    return client.mgp is not None and (need is None or need in client.mgp.extensions)


class Reply(Protocol):
    """The channel on which one request is answered."""

    def event(self, frame: bytes) -> None:
        """Send a message that goes before the answer. Never blocks."""

    def reconnect(self, retry_ms: int) -> None:
        """Close the stream; the answer waits for a client that comes back."""

    def finish(self, ident: bytes, spelled: verdicts.Spelled) -> Coroutine[Any, Any, None]:
        """Send the answer to the request `ident` (JSON text)."""

    def abandon(self, ident: bytes) -> Coroutine[Any, Any, None]:
        """End the request without a result: its caller cancelled it."""


class _Seat(msgspec.Struct, eq=False):
    """A request that waits for its answer."""

    inbound: Inbound
    reply: Reply
    over: asyncio.Future[None] | None = None
    """Where somebody waits for its end."""

    def leave(self) -> None:
        if self.over is not None and not self.over.done():
            self.over.set_result(None)


class Exchange:
    """One running call; see the module's text."""

    # Most calls ask nothing and are never parked: what only those need begins here, once for all.
    _call: Call | None = None
    _task: asyncio.Task[Any] | None = None
    _cancelled = False
    _handle: str | None = None
    _questions: Mapping[str, tuple[Question, asyncio.Future[Any]]] = MappingProxyType({})
    _count = 0
    _asking: asyncio.Task[None] | None = None
    _kept: tuple[Event, ...] = ()
    _kept_bytes = 0
    _outcome: verdicts.Spelled | None = None

    def __init__(
        self,
        front: Front,
        parked: Parked[Exchange],
        conversation: Conversation,
        inbound: Inbound,
        reply: Reply,
        asks: dict[bytes, asyncio.Future[Any]],
    ) -> None:
        self._front = front
        self._parked = parked
        self._conversation = conversation
        self._modern = is_modern(inbound.client.revision)
        self._inbound = inbound
        """The request that came last; of a parked exchange, the one that was answered last."""
        self._seat: _Seat | None = _Seat(inbound, reply)
        # Questions on their way to a legacy host, by id; shared with whoever reads its answers.
        self._asks = asks

    async def run(self, call: Call) -> bool:
        """Walk the call and answer it; True where it was answered with a result. Raises only the
        cancellation of its task by others than its caller."""
        self._call = call
        self._task = task = asyncio.current_task()
        answered = False
        try:
            if not self._cancelled:
                outcome = await self._front.kernel.handle(call, self)
                answered = type(outcome) is Answer
                await self._answer(call, outcome)
        except asyncio.CancelledError:
            if not self._cancelled or task is None or task.uncancel() > 0:
                self._release()
                raise
        self._task = None
        if self._cancelled:
            self._release()
            await self._abandon()
        return answered

    def cancel(self, ident: bytes | None = None) -> None:
        """End the call because its caller gave up on the request `ident`, or went away altogether.
        Ignored where that request has been answered already."""
        seat = self._seat
        if ident is not None and (seat is None or not _same(seat.inbound.id, ident)):
            return
        if not self._cancelled:
            self._cancelled = True
            if self._task is not None:
                self._task.cancel()

    async def _answer(self, call: Call, outcome: Outcome) -> None:
        if type(outcome) is Answer and outcome.modern and self._modern:
            outcome = self._reseal(call, outcome)
        inbound = self._inbound
        spelled = verdicts.spell(
            outcome, inbound.method, inbound.client, call.trace_id, self._front.info
        )
        if self._seat is None:
            self._outcome = spelled  # for who comes back in time
            return
        self._release()
        await self._leave(spelled)

    async def _leave(self, spelled: verdicts.Spelled) -> None:
        """Answer who has the seat."""
        seat, self._seat = self._seat, None
        if seat is not None:
            try:
                await seat.reply.finish(seat.inbound.id, spelled)
            finally:
                seat.leave()

    async def _abandon(self) -> None:
        seat, self._seat = self._seat, None
        if seat is not None:
            try:
                await seat.reply.abandon(seat.inbound.id)
            finally:
                seat.leave()

    def _release(self) -> None:
        if self._handle is not None:
            self._parked.release(self._handle)

    def _reseal(self, call: Call, answer: Answer) -> Answer:
        if eras.read_interim(answer.raw) is None:
            return answer
        raw = self._front.sealer.reseal(
            answer.raw,
            principal=call.caller.id,
            digest=eras.request_digest(call.method, call.params),
            expires=self._front.clock() + PARKED_S,
            nonce=self._front.random(12),
        )
        return Answer(raw, answer.tool_error, modern=True)

    # -- events

    def emit(self, event: Event) -> None:
        """Send one event, where the caller wants such events at all."""
        seat = self._seat
        if seat is None:
            self._keep(event)
            return
        if event.method == RECONNECT:
            seat.reply.reconnect(int(event.params.get("retry_ms", 1000)))
            return
        params = self._wanted(seat.inbound, event.method, event.params)
        if params is not None:
            seat.reply.event(jsonrpc.notification(event.method, params))

    def _wanted(
        self, inbound: Inbound, method: str, params: dict[str, Any]
    ) -> dict[str, Any] | None:
        """The params as this request is to see them, or None where it does not want the event."""
        if not hears(inbound.client, method):
            return None
        if method == "notifications/message":
            level = params.get("level")
            return params if self._conversation.wants_log(inbound.client, level) else None
        if method == "notifications/progress":
            token = (inbound.params.get("_meta") or {}).get("progressToken")
            return None if token is None else {**params, "progressToken": token}
        if "request_id" in params and method.startswith("notifications/mgp."):
            return {**params, "request_id": jsonrpc.decode(inbound.id)}
        return params

    def _keep(self, event: Event) -> None:
        """Hold an event of a parked call for who takes it up; beyond the limit, drop it."""
        size = len(jsonrpc.encode(event.params))
        if self._kept_bytes + size <= self._front.queue_bytes:
            self._kept += (event,)
            self._kept_bytes += size

    # -- questions

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller and wait for its answer. Raises `CannotAsk`."""
        call, method = self._call, question.method
        if not can_answer(self._inbound.client, method):
            raise CannotAsk(f"the caller's client did not declare that it answers {method}")
        if self._modern:
            return await self._ask_parked(question)
        if call is None or call.session is None:
            raise CannotAsk("the caller has no session, and so no way to answer", -32000)
        return await self._ask_now(question)

    async def _ask_now(self, question: Question) -> dict[str, Any]:
        seat = self._seat
        if seat is None:
            raise CannotAsk("the call is over", -32000)
        ident, frame = self._conversation.ask(question.method, question.params)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asks[ident] = answer
        reason = "the call ended"
        try:
            seat.reply.event(frame)
            async with asyncio.timeout(PARKED_S):
                return await answer
        except TimeoutError:
            reason = "nobody answered in time"
            raise CannotAsk("the caller did not answer in time", -32000) from None
        finally:
            del self._asks[ident]
            if not answer.done() or answer.cancelled():
                gone = {"requestId": jsonrpc.decode(ident), "reason": reason}
                seat.reply.event(jsonrpc.notification("notifications/cancelled", gone))

    async def _ask_parked(self, question: Question) -> dict[str, Any]:
        if self._handle is None:
            owner = self._call.caller.id if self._call is not None else ""
            self._handle = self._parked.admit(self, owner)
        self._count += 1
        key = question.key or f"q{self._count}"
        if key in self._questions:
            raise CannotAsk(f"there is a question {key!r} already, which nobody has answered yet")
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions = {**self._questions, key: (question, answer)}
        self._ask_soon()
        try:
            async with asyncio.timeout(PARKED_S):
                return await answer
        except TimeoutError:
            raise CannotAsk("the caller never came back with an answer", -32000) from None
        finally:
            self._questions = {name: one for name, one in self._questions.items() if name != key}

    def _ask_soon(self) -> None:
        """Answer `input_required` once what is ready in this turn of the loop has asked, too."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._interim())

    async def _interim(self) -> None:
        call, front, handle = self._call, self._front, self._handle
        if not self._questions or self._seat is None or call is None or handle is None:
            return
        self._parked.extend(handle)
        digest = eras.request_digest(call.method, call.params)
        state = eras.State("parked", call.caller.id, digest, front.clock() + PARKED_S, handle)
        wanted = {key: question for key, (question, _) in self._questions.items()}
        result = eras.interim_result(wanted, front.sealer.seal(state, front.random(12)), front.info)
        try:
            await self._leave(verdicts.Spelled(result))
        except Exception:
            log.exception("call %s: the caller could not be asked", call.id)

    def resume(self, inbound: Inbound, reply: Reply) -> Coroutine[Any, Any, None]:
        """Take the exchange up again for a repeated request, which has the seat from now on. What
        comes back ends when the request is answered, by the call's end or its next question."""
        if self._seat is not None:
            return reply.finish(inbound.id, _BUSY)
        self._seat = seat = _Seat(inbound, reply, asyncio.get_running_loop().create_future())
        self._inbound = inbound
        return self._resumed(seat)

    async def _resumed(self, seat: _Seat) -> None:
        kept, self._kept, self._kept_bytes = self._kept, (), 0
        for event in kept:
            self.emit(event)
        if self._outcome is not None:
            self._release()
            await self._leave(self._outcome)
            return
        self._take(seat.inbound.params.get("inputResponses"))
        if any(not answer.done() for _, answer in self._questions.values()):
            self._ask_soon()  # what was not answered is asked again
        try:
            if seat.over is not None:
                await seat.over
        except asyncio.CancelledError:
            self.cancel(seat.inbound.id)
            raise

    def _take(self, answers: Any) -> None:
        for key, answer in answers.items() if isinstance(answers, dict) else ():
            waiting = self._questions.get(key)
            if waiting and isinstance(answer, dict) and not waiting[1].done():
                waiting[1].set_result(answer)


def _same(one: bytes, other: bytes) -> bool:
    return one == other or request_key(one) == request_key(other)


_BUSY = verdicts.Spelled(
    error=b'{"code":-32600,"message":"this request is being repeated already"}', http=400
)

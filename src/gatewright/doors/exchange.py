"""One request's way through the kernel, and what travels back while it runs.

An `Exchange` is the kernel's `Back` for one call. Towards a legacy host a question is a request on the
call's own channel. Towards a modern host it cannot be: the exchange is *parked*, the host is answered
`input_required` with a sealed handle, and the repeated request with the answers takes the exchange up
again. The call inside the kernel notices none of that: it waits for its answer in both eras.
"""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from gatewright.call import RECONNECT, Answer, Call, CannotAsk, Event, Outcome, Question
from gatewright.doors.front import Front
from gatewright.protocol import eras, verdicts
from gatewright.protocol.mcp_server import Conversation, Inbound, can_answer
from gatewright.wire import jsonrpc
from gatewright.wire.versions import is_modern

__all__ = ["PARKED_S", "Exchange", "Parked", "Reply"]

PARKED_S = 600.0
"""How long a parked call waits for its answers."""

_PARKED_EACH = 100
"""How many calls one caller may have parked."""

_MGP_NEEDS = {
    "stream": "streaming",
    "event": "bidirectional",
    "callback": "bidirectional",
    "lifecycle": "lifecycle",
    "audit": "audit",
}


_BUSY = verdicts.Spelled(
    error=b'{"code":-32600,"message":"this request is being repeated already"}', http=400
)


class Reply(Protocol):
    """The channel on which one request is answered."""

    def event(self, frame: bytes) -> None:
        """Send a message that goes before the answer. Never blocks."""

    def reconnect(self, retry_ms: int) -> None:
        """Close the stream; the answer waits for a client that comes back."""

    async def finish(self, ident: bytes, spelled: verdicts.Spelled) -> None:
        """Send the answer to the request `ident` (JSON text)."""

    async def abandon(self, ident: bytes) -> None:
        """End the request without a result: its caller cancelled it."""


class _Nobody:
    """The channel of a parked exchange: keeps what comes meanwhile."""

    def __init__(self) -> None:
        self.kept: list[bytes] = []
        self.answer: verdicts.Spelled | None = None

    def event(self, frame: bytes) -> None:
        if len(self.kept) < 1000:
            self.kept.append(frame)

    def reconnect(self, retry_ms: int) -> None:
        """Nobody is connected."""

    async def finish(self, ident: bytes, spelled: verdicts.Spelled) -> None:
        self.answer = spelled

    async def abandon(self, ident: bytes) -> None:
        """Nobody waits."""


class Exchange:
    """One running call; see the module's text."""

    def __init__(
        self,
        front: Front,
        parked: Parked,
        conversation: Conversation,
        inbound: Inbound,
        reply: Reply,
        asks: dict[bytes, asyncio.Future[Any]],
    ) -> None:
        self._front = front
        self._parked = parked
        self._conversation = conversation
        self.inbound = inbound
        self._reply: Reply = reply
        self._modern = is_modern(inbound.client.revision)
        self._questions: dict[str, tuple[Question, asyncio.Future[Any]]] = {}
        self._count = 0
        self._asking: asyncio.Task[None] | None = None
        self._call: Call | None = None
        self.handle: str | None = None
        # Questions on their way to a legacy host, by id; shared with whoever reads its answers.
        self._asks = asks
        self._resumed = False

    async def run(self, call: Call) -> None:
        """Walk the call and answer it. Raises only the cancellation of its own task."""
        self._call = call
        outcome = await self._front.kernel.handle(call, self)
        await self.answer(call, outcome)

    async def answer(self, call: Call, outcome: Outcome) -> None:
        """Spell the outcome and send it."""
        if type(outcome) is Answer and outcome.modern and self._modern:
            outcome = self._reseal(call, outcome)
        inbound = self.inbound
        spelled = verdicts.spell(
            outcome, inbound.method, inbound.client, call.trace_id, self._front.info
        )
        reply = self._reply
        await reply.finish(inbound.id, spelled)
        if self.handle is not None and not isinstance(reply, _Nobody):
            self._parked.release(self.handle)

    async def abandon(self) -> None:
        """End the exchange of a call that was cancelled."""
        await self._reply.abandon(self.inbound.id)

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
        client, method, params = self.inbound.client, event.method, event.params
        if method == RECONNECT:
            self._reply.reconnect(int(params.get("retry_ms", 1000)))
            return
        if method == "notifications/message":
            if not self._conversation.wants_log(client, params.get("level")):
                return
        elif method.startswith("notifications/mgp."):
            need = _MGP_NEEDS.get(method.split(".")[1])
            if client.mgp is None or (need and need not in client.mgp.extensions):
                return
            if "request_id" in params:
                params = {**params, "request_id": jsonrpc.decode(self.inbound.id)}
        elif self._resumed and "progressToken" in params:
            token = (self.inbound.params.get("_meta") or {}).get("progressToken")
            params = {**params, "progressToken": token}
        self._reply.event(jsonrpc.notification(method, params))

    # -- questions

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller and wait for its answer. Raises `CannotAsk`."""
        if not can_answer(self.inbound.client, question.method):
            raise CannotAsk(
                f"the caller's client did not declare that it answers {question.method}"
            )
        if self._modern:
            return await self._ask_parked(question)
        return await self._ask_now(question)

    async def _ask_now(self, question: Question) -> dict[str, Any]:
        ident, frame = self._conversation.ask(question.method, question.params)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._asks[ident] = answer
        try:
            self._reply.event(frame)
            return await answer
        except asyncio.CancelledError:
            gone = {"requestId": jsonrpc.decode(ident), "reason": "the call ended"}
            self._reply.event(jsonrpc.notification("notifications/cancelled", gone))
            raise
        finally:
            self._asks.pop(ident, None)

    async def _ask_parked(self, question: Question) -> dict[str, Any]:
        if self.handle is None:
            owner = self._call.caller.id if self._call is not None else ""
            self.handle = self._parked.admit(self, owner)
        self._count += 1
        key = f"q{self._count}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._questions[key] = (question, answer)
        self._ask_soon()
        try:
            return await asyncio.wait_for(answer, PARKED_S)
        except TimeoutError:
            raise CannotAsk("the caller never came back with an answer", -32000) from None
        finally:
            self._questions.pop(key, None)

    def _ask_soon(self) -> None:
        """Answer `input_required` once what is ready in this turn of the loop has asked, too."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._interim())

    async def _interim(self) -> None:
        if not self._questions or isinstance(self._reply, _Nobody):
            return
        call, front = self._call, self._front
        if call is None or self.handle is None:
            return
        state = eras.State(
            "parked",
            call.caller.id,
            eras.request_digest(call.method, call.params),
            front.clock() + PARKED_S,
            self.handle,
        )
        wanted = {key: question for key, (question, _) in self._questions.items()}
        result = eras.interim_result(wanted, front.sealer.seal(state, front.random(12)), front.info)
        reply, self._reply = self._reply, _Nobody()
        await reply.finish(self.inbound.id, verdicts.Spelled(result))

    async def resume(self, answers: Any, inbound: Inbound, reply: Reply) -> None:
        """Take the exchange up again for a repeated request. Returns at once; `reply` is answered
        by the call's end or its next question."""
        before = self._reply
        if not isinstance(before, _Nobody):
            await reply.finish(inbound.id, _BUSY)
            return
        self._reply, self.inbound, self._resumed = reply, inbound, True
        for frame in before.kept:
            reply.event(frame)
        if before.answer is not None:
            await reply.finish(inbound.id, before.answer)
            self._parked.release(self.handle or "")
            return
        for key, answer in answers.items() if isinstance(answers, dict) else ():
            waiting = self._questions.get(key)
            if waiting and isinstance(answer, dict) and not waiting[1].done():
                waiting[1].set_result(answer)
        if any(not answer.done() for _, answer in self._questions.values()):
            self._ask_soon()  # what was not answered is asked again


class Parked:
    """The exchanges that wait for a repeated request, by handle."""

    def __init__(self, front: Front) -> None:
        self._front = front
        self._waiting: dict[str, tuple[Exchange, str, asyncio.TimerHandle]] = {}
        self._owners: dict[str, int] = {}

    def admit(self, exchange: Exchange, owner: str) -> str:
        """A handle for an exchange of `owner`. Raises `CannotAsk` where that has too many."""
        if self._owners.get(owner, 0) >= _PARKED_EACH:
            raise CannotAsk("too many calls of this caller wait for answers", -32000)
        handle = self._front.random(32).hex()
        timer = asyncio.get_running_loop().call_later(PARKED_S, self.release, handle)
        self._waiting[handle] = exchange, owner, timer
        self._owners[owner] = self._owners.get(owner, 0) + 1
        return handle

    def release(self, handle: str) -> None:
        """Forget a handle; unknown ones are ignored."""
        found = self._waiting.pop(handle, None)
        if found is None:
            return
        _, owner, timer = found
        timer.cancel()
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner]

    def find(self, handle: str) -> Exchange | None:
        """The exchange behind a handle that a sealed state named."""
        found = self._waiting.get(handle)
        return None if found is None else found[0]

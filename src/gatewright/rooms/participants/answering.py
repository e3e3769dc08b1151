"""`Answering`: runs requests to a room participant as bounded tasks and sends the responses, or an error where one was not passed on.

How many run at once is bounded, for each sender and for all together, so that one who asks for what takes long leaves
room for others. Notifications are let through beyond that: one of them is how a sender gives up on a request.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Requested
from gatewright.transport.slices import by_and_by

__all__ = ["Answering", "Responder"]

log = logging.getLogger("gatewright.rooms.participants")

Responder = Callable[[bytes, Envelope], Awaitable[bytes | None]]
"""JSON-RPC request (or notification) and the envelope it came in → JSON-RPC response, None for a notification."""

EACH = 64
"""How many requests of one sender run at once."""
ALL = 256
_NOTIFICATIONS = 2 * ALL
_REMEMBERED = 256
_BUSY = (-32000, "too many requests at once; ask again")
_INTERNAL = -32603
_REFUSED = -32600
_GAVE_UP = "who asked for this has left the room, so that it was given up; it may have been begun"


class Answering:
    """See the module's text. Belongs to one event loop."""

    def __init__(
        self,
        responder: Responder | None,
        *,
        send: Callable[[Envelope, bytes], str | None],
        name: Callable[[], str],
    ) -> None:
        """`send` says the answer to an envelope: the id of that message, None where it may not be said. `name` is
        what the participant is called. Where the envelope has no sender, who asked has left."""
        self._responder = responder
        self._send = send
        self._name = name
        self._tasks: dict[asyncio.Task[None], tuple[str, str]] = {}
        """Each with sender and id of the envelope."""
        self._asking: dict[asyncio.Task[None], str] = {}
        """Those that somebody waits for, with their senders."""
        self._nobodys: set[asyncio.Task[None] | None] = set()
        """Those whose sender has left meanwhile: its name hears nothing of them."""
        self._running: Counter[str] = Counter()
        self._sent: dict[str, tuple[Envelope, bytes]] = {}
        """Id of an answer → what it was to: the last ones, in case the gateway does not pass one on."""

    def take(
        self, envelope: Envelope, request: Requested, flaw: str = "", *, proposed: bool = False
    ) -> None:
        """Answer one request, by and by; at once with `flaw` where it may not be carried out. While one of the same sender and
        id is carried out, that one's answer is the only one: nobody could tell an error from it; also whoever `proposed` it, who
        waits for the answer when the sender has left."""
        sender, ident = envelope.sender, request.ident
        if flaw:
            if ident is not None and not self._answers(sender, envelope.id, proposed=proposed):
                self.answer(envelope, ident, jsonrpc.error(ident, (_REFUSED, flaw)))
            return
        # Notifications have room beyond `ALL`: a cancellation must come through when everything is busy.
        if ident is None:
            if len(self._tasks) >= _NOTIFICATIONS:
                return
        elif len(self._tasks) >= ALL or self._running[sender] >= EACH:
            self.answer(envelope, ident, jsonrpc.error(ident, _BUSY))
            return
        else:
            self._running[sender] += 1
        task = asyncio.get_running_loop().create_task(self._respond(envelope, request))
        self._tasks[task] = sender, envelope.id
        if ident is not None:
            self._asking[task] = sender
            task.add_done_callback(lambda task: self._given_up(task, envelope, ident))
        task.add_done_callback(self._done)

    def _answers(self, sender: str, id: str, *, proposed: bool) -> bool:
        """Whether a message of this sender and id is carried out, for one who is still there to hear the answer."""
        said = sender, id
        return any(
            one == said and (proposed or task not in self._nobodys)
            for task, one in self._tasks.items()
        )

    def left(self, name: str) -> None:
        """A participant has left the room: what it asked for and was not begun is not, and nothing of the rest is answered to that
        name: whoever is called so next is another. The responder learns of it by itself."""
        for task, sender in self._asking.items():
            if sender == name:
                self._nobodys.add(task)
                work = task.get_coro()
                if iscoroutine(work) and getcoroutinestate(work) == CORO_CREATED:
                    task.cancel()

    def _given_up(self, task: asyncio.Task[None], envelope: Envelope, ident: bytes) -> None:
        if task in self._nobodys and task.cancelled():
            self._answer_others(envelope, ident, jsonrpc.error(ident, (_INTERNAL, _GAVE_UP)))

    def _answer_others(self, envelope: Envelope, ident: bytes, payload: bytes) -> None:
        """Say the answer to whoever else waits for it than the one who asked and has left: who proposed it."""
        self.answer(msgspec.structs.replace(envelope, sender=""), ident, payload)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        self._nobodys.discard(task)
        sender = self._asking.pop(task, None)
        if sender is not None:
            self._running[sender] -= 1
            if not self._running[sender]:
                del self._running[sender]

    async def _respond(self, envelope: Envelope, request: Requested) -> None:
        answer: bytes | None = None
        if self._responder is not None:
            try:
                answer = await self._responder(request.frame, envelope)
            except Exception:
                log.exception("a request of %s broke", envelope.sender)
                answer = jsonrpc.error(request.ident or b"null", (_INTERNAL, "internal error"))
        elif request.ident is not None:
            said = f"{self._name()} offers nothing: it has no tools, prompts or resources"
            answer = jsonrpc.error(request.ident, (-32601, said))
        if answer is None or request.ident is None:
            return
        left = asyncio.current_task() in self._nobodys
        (self._answer_others if left else self.answer)(envelope, request.ident, answer)

    def answer(self, envelope: Envelope, ident: bytes, payload: bytes) -> None:
        """Say the answer to a request at once."""
        id = self._send(envelope, payload)
        if id is not None:
            # Without what was asked, which can be long: 256 are kept.
            self._sent[id] = msgspec.structs.replace(envelope, payload=b"", text=b"", to=()), ident
            if len(self._sent) > _REMEMBERED:
                del self._sent[next(iter(self._sent))]

    def refused(self, id: str, why: str) -> None:
        """The gateway has not passed on a message. Where that was an answer, who waits for it is told instead."""
        found = self._sent.pop(id, None)
        if found is not None:
            envelope, ident = found
            said = f"the answer was not passed on: {why}"
            self._send(envelope, jsonrpc.error(ident, (_INTERNAL, said)))

    def end(self) -> None:
        """Nothing is answered any more."""
        by_and_by([task.cancel for task in self._tasks])

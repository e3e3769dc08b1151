"""`Duplex`: MCP over one pipe (stdio, WebSocket, SSE): a task per request up to a limit, batches, calls awaiting input; cancels on close.

Messages of both eras may come on one pipe; the conversation tells them apart.
"""

from __future__ import annotations

import asyncio

from gatewright.call import Caller, Refusal
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.outcomes import Spelled, spell_reason
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import revision
from gatewright.transport.base import Closed, Pipe
from gatewright.transport.cancelled_tasks import let_go
from gatewright.transport.slices import by_and_by

__all__ = ["Duplex"]


class Duplex:
    """The receiver of one host's pipe. `attach` gives it the way back."""

    def __init__(
        self,
        front: ServerContext,
        caller: Caller,
        *,
        door: str,
        credential: str | None,
        profile: str,
        in_flight: int = 1024,
    ) -> None:
        self._front = front
        self._pipe: Pipe | None = None
        self._in_flight = in_flight
        self._tasks: set[asyncio.Task[None]] = set()
        self._parked: PendingInputs[ServedRequest] = PendingInputs(front)
        self.peer = ClientSession(
            front,
            self._parked,
            caller,
            door=door,
            credential=credential,
            profile=profile,
            session=front.random(16).hex(),
            send=lambda frame, _: self.send(frame),
        )

    @property
    def presented(self) -> Presented:
        """Who the host is, and what it presented last."""
        return self.peer.presented

    @property
    def busy(self) -> bool:
        """Whether a request of the host is still to be answered."""
        return bool(self._tasks)

    @property
    def behind(self) -> int:
        """Bytes that the host has not taken yet."""
        return 0 if self._pipe is None else self._pipe.waiting

    def attach(self, pipe: Pipe) -> None:
        """From now on answers go to this pipe."""
        self._pipe = pipe

    def send(self, message: bytes) -> None:
        """Say something to the host; without effect once it is gone."""
        if self._pipe is not None:
            try:
                self._pipe.send(message)
            except Closed:
                self._pipe = None

    # -- what the transport calls

    def message(self, data: bytes) -> None:
        """Take one message: a request gets a task of its own, so that no call waits behind another. Without effect once the host
        is gone: nothing would end what it starts."""
        if self.peer.closed:
            return
        if data.lstrip()[:1] == b"[":
            self._batch(data)
            return
        effect = self.peer.conversation.receive(jsonrpc.parse(data, self._front.limits))
        if effect is not None and not self.peer.take(effect):
            self._start(effect, _PipeReply(self))

    def _start(self, effect: mcp.Effect, reply: _PipeReply) -> None:
        if len(self._tasks) >= self._in_flight and isinstance(effect, (mcp.Inbound, mcp.Listen)):
            work = self._refuse(effect, reply)
        else:
            work = self.peer.serve(effect, reply)
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(let_go)

    async def _refuse(self, effect: mcp.Inbound | mcp.Listen, reply: _PipeReply) -> None:
        flaw = f"at most {self._in_flight} requests of one connection run at once"
        busy = Refusal("resource_exhausted", flaw)
        trace = self._front.random(16).hex()
        method = effect.method if isinstance(effect, mcp.Inbound) else "subscriptions/listen"
        spelled = spell_reason(busy, method, effect.client, trace, self._front.info)
        await reply.finish(effect.id, spelled)

    def _batch(self, data: bytes) -> None:
        """A batch, for hosts of the one revision that has them; others learn what is wrong."""
        client = self.peer.conversation.client
        if client is None or not revision(client.revision).batches:
            self.send(
                jsonrpc.error(b"null", (jsonrpc.INVALID_REQUEST, "batches are not supported"))
            )
            return
        messages = jsonrpc.parse_many(data, self._front.limits)
        if isinstance(messages, jsonrpc.Malformed):
            self.send(jsonrpc.error(messages.id, (messages.code, messages.message)))
            return
        batch = _Batch(self, 0)
        # Counted before any of them runs, so that the batch leaves once, with the last answer.
        effects = [self.peer.conversation.receive(message) for message in messages]
        waiting = [one for one in effects if one is not None and not self.peer.take(one)]
        batch.missing = len(waiting)
        for effect in waiting:
            self._start(effect, _PipeReply(self, batch))

    def closed(self, reason: str) -> None:
        """The host is gone."""
        self._pipe = None  # first: what ends now has nobody to tell it to
        self.deaf()
        self.peer.close()
        by_and_by([task.cancel for task in self._tasks])

    def deaf(self) -> None:
        """The host will say nothing more, but may still read."""
        self._parked.close()
        self.peer.deaf()

    async def drained(self, within_s: float) -> None:
        """Wait for what is running, at most `within_s` seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=within_s)


class _Batch:
    """The answers of one batch, sent together once all are there."""

    def __init__(self, door: Duplex, missing: int) -> None:
        self._door = door
        self.missing = missing
        self._frames: list[bytes] = []

    def add(self, frame: bytes | None) -> None:
        if frame is not None:
            self._frames.append(frame)
        self.missing -= 1
        if not self.missing and self._frames:
            self._door.send(b"[" + b",".join(self._frames) + b"]")


class _PipeReply:
    """The answer to one request of a pipe."""

    whole = None

    def __init__(self, door: Duplex, batch: _Batch | None = None) -> None:
        self._door = door
        self._batch = batch

    @property
    def behind(self) -> int:
        return self._door.behind

    def event(self, frame: bytes) -> bool:
        self._door.send(frame)
        return True

    def recall(self, frame: bytes) -> None:
        self._door.send(frame)

    def reconnect(self, retry_ms: int) -> None:
        """A pipe is not a stream that can be taken up again."""

    def say(self, ident: bytes, result: bytes) -> bool:
        if self._batch is None:
            self._door.send(jsonrpc.response(ident, result))
        return self._batch is None

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        frame = spelled.frame(ident)
        if self._batch is None:
            self._door.send(frame)
        else:
            self._batch.add(frame)

    async def abandon(self, ident: bytes, why: Spelled | None = None) -> None:
        # A cancelled request is not answered on a pipe (lifecycle rules of every revision).
        if self._batch is not None:
            self._batch.add(None)

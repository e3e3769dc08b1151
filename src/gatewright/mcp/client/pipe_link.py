"""`PipeLink`: client connection over a shared pipe (stdio, WebSocket, HTTP+SSE): handshake, (prepared) calls, garbage and backlog limits.

All calls share the pipe and none waits for another. `server_requests` and `notifications` find the call that a server's own message is about.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from gatewright.call import Back, Call, Failure, Outcome, Refusal
from gatewright.mcp.client.backlog_shares import BacklogShares
from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.client.http_rules import NOT_REACHED, gone
from gatewright.mcp.client.large_messages import is_batch, large_response, message_in
from gatewright.mcp.client.link import Link, LinkClosed, Sink
from gatewright.mcp.client.outgoing import Question, question
from gatewright.mcp.client.pending_requests import PendingRequest, Reply
from gatewright.mcp.protocol.mcp_client import (
    INITIALIZED,
    Ask,
    Failed,
    Fallback,
    Handshake,
    Hello,
    Step,
)
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.jsonrpc import encode
from gatewright.standing import Rest, attribute
from gatewright.transport.base import Closed, Pipe, send_soon
from gatewright.transport.large_text import LARGE
from gatewright.transport.process import ChildProcess

__all__ = ["BEHIND", "GARBAGE", "PipeLink"]

log = logging.getLogger("gatewright.mcp.client")

GARBAGE = 1000
"""So many unreadable messages in a row, and the peer is no MCP server."""
BEHIND = 8 * 1024 * 1024
"""So many bytes of calls may wait for a server, half of what `transport.base` lets wait at all."""
_SMALL = 4096
"""A call of so few bytes may wait behind half as many more: as many as may be in flight at once always have room there."""
_LITTLE = 256 * 1024
"""Behind so little a message may wait whatever its own size (`transport.base`): that is what others send in the same moment."""
_SILENT_GRACE_S = 0.5
"""How long a child that never said hello has after each step of being ended: there is nothing that it could bring to its end."""
_SECOND = "a second answer to one request"
_OWN_OUTPUT = "; its standard output is for messages alone, what it logs belongs on standard error"


def _fits(behind: int, frame: bytes) -> bool:
    most = BEHIND if len(frame) > _SMALL else BEHIND + BEHIND // 2
    return behind <= _LITTLE or behind + len(frame) <= most


class PipeLink(Link):
    """Also the pipe's `Receiver`: make the link, open the pipe with it, then call `greet`."""

    def __init__(self, spec: Endpoint, info: Mapping[str, Any], sink: Sink) -> None:
        super().__init__(spec, info, sink)
        self.opening: asyncio.Future[ChildProcess] | None = None
        """The child, while it is being started."""
        self.over: Callable[[int], None] = self._pending.__delitem__
        """A prepared call of this id was answered."""
        self._pipe: Pipe | None = None
        self._handshake: Handshake | None = None
        self._steps: asyncio.Queue[Step] = asyncio.Queue()
        self.shares = BacklogShares()
        self._garbage = 0
        self._complained = 0.0

    # -- life ----------------------------------------------------------------------------------------

    async def greet(self, pipe: Pipe, handshake: Handshake) -> Hello:
        """Say hello over the pipe that was opened with this link as its receiver.

        Raises `LinkClosed` when the server goes away or cannot be agreed with. The time that all
        this may take is the caller's to bound.
        """
        self._pipe, self._handshake = pipe, handshake
        soon = pipe.send_soon if isinstance(pipe, ChildProcess) else partial(send_soon, pipe)
        self._send_soon: Callable[[bytes, int], bool] = soon
        step: Step = handshake.start()
        while isinstance(step, Ask):
            # Silence means something only where there is another way to ask. Who is known to be modern
            # may take as long to start as any other server.
            probing = step.method == "server/discover" and self.spec.era == "auto"
            try:
                pipe.send(jsonrpc.request(b"%d" % step.ident, step.method, step.params))
                step = await self._step(self.spec.probe_s if probing else None)
            except Closed as gone:
                step = Failed(gone.reason)
        self._handshake = None
        if isinstance(step, Failed | Fallback):
            reason = step.reason if isinstance(step, Failed) else "this is no MCP server"
            self.close(reason)
            raise LinkClosed(reason)
        self.hello = step
        if self.admits is not None:
            await self.admits.admit(self)
        if not step.modern:
            self._write(INITIALIZED)
        return step

    async def _step(self, patience_s: float | None) -> Step:
        while True:
            try:
                async with asyncio.timeout(patience_s):
                    return await self._steps.get()
            except TimeoutError:
                if not self._steps.empty():
                    continue  # it came in the very moment in which the patience ended
                found = self._handshake.silent() if self._handshake is not None else None
                if found is not None:
                    return found

    def close(self, reason: str) -> None:
        """End the connection; what is in flight fails. Idempotent."""
        if isinstance(self._pipe, ChildProcess) and self.hello is None:
            self._pipe.close(_SILENT_GRACE_S)
        elif self._pipe is not None:
            self._pipe.close()
        self._end(reason)

    async def stop(self, grace_s: float) -> None:
        """Like `close`, and wait until the child is gone."""
        pipe = self._pipe
        self._end("stopped")
        if pipe is None and self.opening is not None:
            # It was given up while it was being opened; what is half open cannot be closed.
            await asyncio.wait([self.opening])
            pipe = None if self.opening.exception() is not None else self.opening.result()
        if isinstance(pipe, ChildProcess):
            await pipe.stop(grace_s if self.hello is not None else min(grace_s, _SILENT_GRACE_S))
        elif pipe is not None:
            pipe.close()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_s):
                    await pipe.wait_closed()

    def closed(self, reason: str) -> None:
        """The pipe is gone (`Receiver`)."""
        self._end(reason)

    def _end(self, reason: str) -> None:
        if self._closing:
            return
        self._retire(reason)
        self._steps.put_nowait(Failed(self._closing))
        self._questions.close()
        for exchange in list(self._pending.values()):
            exchange.ordinary().settle(self._gone(sent=True))

    def _gone(self, *, sent: bool) -> Failure:
        return gone(self.spec.id, self._closing, sent=sent, how="ended")

    def waits(self, ident: int) -> bool:
        """Whether anybody waits for the answer to a request."""
        return self._handshake is not None or ident in self._pending

    def lost(self, ident: int, why: str, sent: bool) -> None:
        """No word will come of one request, which was perhaps `sent`: then the server may go on with it, and ask (decision 0107)."""
        if self._handshake is not None:
            self.close(why)
        elif (found := self._pending.get(ident)) is not None:
            exchange = found.ordinary()
            failure = gone(self.spec.id, why, sent=sent, how=NOT_REACHED)
            if exchange.settle(failure) and sent:
                self._questions.abandoned(exchange)

    # -- out -----------------------------------------------------------------------------------------

    def _send(self, exchange: PendingRequest, method: str, params: dict[str, Any]) -> Reply | None:
        pipe = self._pipe
        if self._closing or pipe is None:
            return self._gone(sent=False)
        frame = question(exchange.ident, method, params)
        call = exchange.call
        if call and (refused := self._without_room(frame, call, exchange.ident)) is not None:
            return refused
        try:
            pipe.send(frame)
        except Closed as gone:
            self._end(gone.reason)
            return self._gone(sent=False)
        return None

    # -- prepared calls: what `_once` does, without anybody who awaits it

    @property
    def takes_plainly(self) -> bool:
        """Whether calls are sent as they are: nothing in them is different between caller and server."""
        hello = self._hello
        return (
            hello is not None and hello.mgp is None and not (self.modern or self._outgoing.always)
        )

    @property
    def asking(self) -> tuple[Rest, ...]:
        """Whether its server asks for anything rests on this."""
        return attribute(self._questions, "asked"), attribute(self._questions, "roots_wanted")

    def sender(self, called: str, name: str, keeper: Any) -> Callable[[Any, Call], bool]:
        """What sends calls of the tool of this name, which their callers call by another or the same. `keeper` counts them, and knows how long
        they may take."""
        pending, clock, calls, now = self._pending, self._clock, keeper.calls, self._loop.time
        renamed = called != name

        def send(going: Any, call: Call) -> bool:
            """Send a call whose answer `going` takes; False where that is not the usual case, and nothing was sent."""
            params, ident = call.params, self._next
            if len(pending) >= self.spec.in_flight:
                return False
            if renamed:
                params = params.copy()
                params["name"] = name
            frame = encode(Question(ident, call.method, params))
            if len(frame) > _SMALL or not self._send_soon(frame, _LITTLE):
                return False
            self._next = ident + 1
            going.ident = ident
            pending[ident] = going  # what is asked of a pending request, it can answer
            calls.count += 1
            going.due = due = now() + keeper.spec.call_s
            if due < clock.rings:
                clock.heed(due)
            if self.sole is not None:
                self.serves(call.party)
            return True

        return send

    def promote(self, going: Any, back: Back) -> PendingRequest:
        """From now on it is a request like others."""
        future = self._loop.create_future()
        exchange = PendingRequest(going.ident, going.call, back, self._clock, future, going.due)
        self._pending[going.ident] = exchange
        return exchange

    def replied(self, exchange: PendingRequest, method: str) -> Coroutine[Any, Any, Outcome]:
        """Wait for the answer to it."""
        return self._replied(exchange, method, "tool")

    def left(self, exchange: PendingRequest) -> None:
        """Its caller is gone before anybody waited for it."""
        self._left(exchange)
        del self._pending[exchange.ident]

    def _without_room(
        self, frame: bytes, call: Call | None = None, ident: int | None = None
    ) -> Refusal | None:
        """Why a message is not sent that a caller made as large as it is. Else the server would be ended as a slow reader, and
        everybody's calls with it, for what a few have sent; or others would find no room."""
        behind, size = 0 if self._pipe is None else self._pipe.waiting, len(frame)
        behind -= 0 if call else self.shares.unaccepted  # calls that run keep no answer back
        if size <= _SMALL and behind <= _LITTLE:  # nearly always
            return None
        said = f"server {self.spec.id} has not taken {behind / 2**20:.1f} MiB of calls yet"
        if not _fits(behind, frame):
            return Refusal("resource_exhausted", said, {"sent": False})
        if call is None or size <= _SMALL:
            return None
        if not self.shares.allows(call.caller.who, size, behind, BEHIND) and behind > _LITTLE:
            said += f", and {call.caller.id} has its share of what may wait"
            return Refusal("resource_exhausted", said, {"sent": False})
        self.shares.sent(call.caller.who, size, ident)
        return None

    def _abandon(self, exchange: PendingRequest, reason: str) -> None:
        self._questions.abandoned(exchange)
        self._cancels.call_off(exchange, reason)

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""
        self._write(jsonrpc.notification(method, params))

    def tell(self, method: str, params: dict[str, Any], call: Call) -> Refusal | None:
        """Tell the server what a caller says; why not, where it is behind."""
        refused = self._without_room(jsonrpc.notification(method, params), call)
        return super().tell(method, params, call) if refused is None else refused

    def _reply(self, frame: bytes) -> None:
        if len(frame) > _SMALL and (refused := self._without_room(frame)) is not None:
            # Callers' answers are as large as calls are. The server waits for something all the same.
            ident = bytes(jsonrpc.members_named(frame, "id")["id"])
            frame = jsonrpc.error(ident, (jsonrpc.INTERNAL_ERROR, refused.message))
        self._write(frame)

    def _remark(self, frame: bytes) -> None:
        if self._without_room(frame) is None:
            self._write(frame)

    def _write(self, frame: bytes) -> None:
        if self._pipe is None or self._closing:
            return
        try:
            self._pipe.send(frame)
        except Closed as gone:
            self._end(gone.reason)

    # -- in ------------------------------------------------------------------------------------------

    def message(self, data: bytes) -> None:
        """Take one whole message (`Receiver`), none of a child that is being stopped: it would be taken for one of the next child's."""
        if self._notes.streams and not self._closing and self._notes.chunk(data):
            self._garbage = 0
            return
        if self._closing:
            return
        read = jsonrpc.plain_response if len(data) <= LARGE else large_response
        found = read(data)  # of a large one without a look at its result
        exchange = None if found is None else self._pending.get(found.id)
        if exchange is not None and found is not None:  # nearly always
            self._garbage = 0
            if not exchange.settle_plainly(found.id, bytes(found.result)):
                self._stray(_SECOND)
            return
        self._take(message_in(data), data)

    def _take(self, message: jsonrpc.Message, data: bytes) -> None:
        if type(message) is jsonrpc.Malformed:
            self._malformed(message, data)
            return
        self._garbage = 0
        if type(message) is jsonrpc.Response:
            self._answered(message)
        elif type(message) is jsonrpc.Notification:
            self._notified(message)
        elif type(message) is jsonrpc.Request:
            # All but a ping may be of any of them, and their clocks stand still.
            every = [] if message.method == "ping" else list(self._pending.values())
            self._questions.put(message, [one.ordinary() for one in every])

    def _answered(self, response: jsonrpc.Response) -> None:
        try:
            ident = int(response.id)
        except ValueError:
            if self._handshake is None or not self._step_on(self._handshake.unnamed(response)):
                self._stray("an answer whose id is none of ours")
            return
        exchange = self._pending.get(ident)
        if exchange is not None:
            if not exchange.ordinary().settle(response):
                self._stray(_SECOND)
        elif self._handshake is not None:
            self._step_on(self._handshake.answered(response))
        elif self._questions.laid(ident, response):
            self.dropped += 1
        else:
            self._stray("an answer to a request that is not open")

    def _step_on(self, step: Step | None) -> bool:
        if step is not None:
            self._steps.put_nowait(step)
        return step is not None

    def _malformed(self, flaw: jsonrpc.Malformed, data: bytes) -> None:
        if is_batch(data):
            batch = jsonrpc.parse_many(data)
            if isinstance(batch, list):
                for message in batch:
                    self._take(message, b"")  # no text: a flawed one within is counted only
                return
        self._garbage += 1
        self._stray(f"an unreadable message: {flaw.message}{_OWN_OUTPUT}")
        if self._garbage >= GARBAGE:
            self.close(f"{GARBAGE} unreadable messages in a row: {flaw.message}{_OWN_OUTPUT}")
            return
        if self._handshake is not None and self._step_on(self._handshake.broken(flaw, data)):
            return
        if flaw.id != b"null":
            self._flawed(flaw, data)

    def _flawed(self, flaw: jsonrpc.Malformed, data: bytes) -> None:
        """A message with a readable id: somebody waits, here or there, and must not wait for ever."""
        try:
            members = jsonrpc.members_named(data, "method", "jsonrpc")
        except ValueError:
            return
        if "method" in members:
            self._write(jsonrpc.error(flaw.id, (flaw.code, flaw.message)))
        elif bytes(members.get("jsonrpc", b"")) == b'"2.0"' and flaw.id.isdigit():
            exchange = self._pending.get(int(flaw.id))
            if exchange is not None:
                text = f"the server's answer is broken: {flaw.message}"
                exchange.ordinary().settle(Failure("upstream_error", text))

    def _stray(self, what: str) -> None:
        """Count what belongs to nothing, and say so at most once a second."""
        self.dropped += 1
        now = self._loop.time()
        if now - self._complained >= 1.0:
            self._complained = now
            log.warning("server %s sent %s (%d dropped)", self.spec.id, what, self.dropped)

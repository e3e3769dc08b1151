"""Bridges MCP pipes into a room: `ServerSeat` seats a server; `HostSeat` shows a host one participant as a server, using proposals.

`ServerSeat` lets everybody in the room use one server: each request gets an id of its own on the pipe, and what the server asks
goes to who called, where that can be told. `HostSeat` is the other way round: to its host one participant of the room looks
like a server. What the host may not request it proposes instead, and waits for somebody to fulfil it.

Both are the receiver of their pipe; `attach` gives it to them.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Operation, Said, kind_of
from gatewright.rooms.participants.errors import CallError, NotAllowedError, RoomError
from gatewright.rooms.participants.participant import Heard, Participant
from gatewright.transport.base import Closed, Pipe

__all__ = ["HELLO_S", "HostSeat", "ServerSeat"]

log = logging.getLogger("gatewright.rooms.participants")

HELLO_S = 30.0
"""How long a server may take to say hello, in seconds."""
ANSWER_S = 300.0
"""How long a server or a host may take to answer, in seconds, where nobody says so: so long its asker holds one of the places of
all who ask."""
_REVISION = "2025-06-18"
_INTERNAL = -32603
_CANCELLED = b'"notifications/cancelled"'


class _Questions:
    """Requests of ours on a pipe that are not answered yet."""

    def __init__(self, name: str, answer_s: float) -> None:
        self._name = name
        self._answer_s = answer_s
        self._numbers = itertools.count(1)
        self._waiting: dict[bytes, asyncio.Future[jsonrpc.Response]] = {}
        self._named: dict[tuple[str, bytes], list[bytes]] = {}
        """Sender and its id of a request → our ids of it: a room tells requests apart by their envelopes, so there may be several."""

    def ask(self) -> tuple[bytes, asyncio.Future[jsonrpc.Response]]:
        """An id that nobody else uses, and what will be answered to it."""
        ident = jsonrpc.encode(f"{self._name}-{next(self._numbers)}")
        future: asyncio.Future[jsonrpc.Response] = asyncio.get_running_loop().create_future()
        self._waiting[ident] = future
        future.add_done_callback(lambda _: self._waiting.pop(ident, None))
        return ident, future

    async def put(
        self,
        members: dict[str, msgspec.Raw],
        sender: str,
        send: Callable[[bytes], None],
    ) -> bytes:
        """Ask what a request of `sender` asks, under an id of ours; the response to it under its own, or an error after so long."""
        ident = bytes(members["id"])
        own, future = self.ask()
        named = self._named.setdefault((sender, ident), [])
        named.append(own)
        try:
            send(jsonrpc.encode({**members, "id": msgspec.Raw(own)}))
            async with asyncio.timeout(self._answer_s):
                found = await future
        except TimeoutError:
            send(_cancelled(own))
            return jsonrpc.error(ident, (_INTERNAL, f"no answer within {self._answer_s:g} s"))
        finally:
            named.remove(own)
            if not named:
                del self._named[sender, ident]
        if found.error:
            return jsonrpc.error(ident, found.error)
        return jsonrpc.response(ident, found.result)

    def cancel(
        self, members: dict[str, msgspec.Raw], sender: str, send: Callable[[bytes], None]
    ) -> None:
        """`sender` gives up on a request, which is not answered then. It names its own id, so that the requests of
        others are out of its reach."""
        params = jsonrpc.decode_members(members.get("params", msgspec.Raw(b"{}")))
        for own in tuple(self._named.get((sender, bytes(params.get("requestId", b""))), ())):
            future = self._waiting.get(own)
            if future is not None:
                params["requestId"] = msgspec.Raw(own)
                send(jsonrpc.encode({**members, "params": params}))
                future.cancel()  # MCP: what is cancelled is not answered

    def gone(self, sender: str, send: Callable[[bytes], None]) -> None:
        """`sender` has left, and waits for nothing any more."""
        every = [own for (who, _), named in self._named.items() if who == sender for own in named]
        for own in every:
            future = self._waiting.get(own)
            if future is not None:
                send(_cancelled(own))
                future.cancel()

    def answer(self, response: jsonrpc.Response) -> None:
        """Somebody has answered; stray answers are let be."""
        future = self._waiting.get(response.id)
        if future is not None and not future.done():
            future.set_result(response)

    def settled(self, flaw: jsonrpc.Malformed, data: bytes) -> bool:
        """Whether a message that cannot be read is an answer that somebody waits for, who is told now."""
        if flaw.id not in self._waiting or _asks(data):
            return False
        error = {"code": _INTERNAL, "message": f"the answer is broken: {flaw.message}"}
        self.answer(jsonrpc.Response(flaw.id, b"", jsonrpc.encode(error)))
        return True

    def end(self, reason: str) -> None:
        """Nobody will."""
        error = jsonrpc.encode({"code": _INTERNAL, "message": reason})
        for ident in list(self._waiting):
            self.answer(jsonrpc.Response(ident, b"", error))


class ServerSeat:
    """A responder that asks a tool server. `attach` gives it the pipe, `greet` opens the one MCP session that all share."""

    def __init__(self, *, answer_s: float = ANSWER_S) -> None:
        """`answer_s` is how long a call may take, and what the server asks."""
        self._participant: Participant | None = None
        self.ended = asyncio.Event()
        self._pipe: Pipe | None = None
        self._answer_s = answer_s
        self._asked = _Questions("room", answer_s)
        self._running: dict[int, str] = {}
        self._marks = itertools.count()
        self._hello: bytes = b"{}"
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def participant(self) -> Participant | None:
        """Who it is in the room; None before it is there."""
        return self._participant

    @participant.setter
    def participant(self, participant: Participant) -> None:
        self._participant = participant
        participant.watchers.append(self._watch)

    def _watch(self, heard: Heard) -> None:
        """What was asked by who leaves the room is cancelled: its place is for others."""
        content = heard.content
        if isinstance(content, Said) and content.payload.get("event") == "leave":
            who = content.payload.get("participant")
            if isinstance(who, dict) and isinstance(who.get("id"), str):
                self._asked.gone(who["id"], self._send)

    def attach(self, pipe: Pipe) -> None:
        """Use this pipe to the server."""
        self._pipe = pipe

    async def greet(self, info: dict[str, Any]) -> None:
        """Say hello as a client that can answer questions. Raises `CallError` or `TimeoutError`."""
        capabilities: dict[str, Any] = {"elicitation": {}, "sampling": {}, "roots": {}}
        params = {"protocolVersion": _REVISION, "capabilities": capabilities, "clientInfo": info}
        ident, future = self._asked.ask()
        self._send(jsonrpc.request(ident, "initialize", params))
        async with asyncio.timeout(HELLO_S):
            found = await future
        if found.error:
            raise _as_error(found.error)
        self._hello = found.result
        self._send(jsonrpc.notification("notifications/initialized", {}))

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """Put the request of a participant to the server."""
        members = jsonrpc.decode_members(frame)
        method = bytes(members.get("method", b""))
        ident = members.get("id")
        if ident is None:
            if method == _CANCELLED:
                self._asked.cancel(members, envelope.sender, self._send)
            elif method != b'"notifications/initialized"':  # ours was said
                self._send(frame)
            return None
        # All members share the one session that `greet` opened, so all get its answer.
        if method == b'"initialize"':
            return jsonrpc.response(bytes(ident), self._hello)
        mark = next(self._marks)
        self._running[mark] = envelope.sender
        try:
            return await self._asked.put(members, envelope.sender, self._send)
        finally:
            del self._running[mark]

    # -- the pipe's

    def message(self, data: bytes) -> None:
        """The server says something."""
        message = jsonrpc.parse(data)
        if isinstance(message, jsonrpc.Response):
            self._asked.answer(message)
        elif isinstance(message, jsonrpc.Request):
            task = asyncio.get_running_loop().create_task(self._question(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        elif isinstance(message, jsonrpc.Notification):
            self._note(message)
        elif not self._asked.settled(message, data) and message.id != b"null" and _asks(data):
            self._send(jsonrpc.error(message.id, (message.code, message.message)))

    def closed(self, reason: str) -> None:
        """The server is gone."""
        self._pipe = None
        self._asked.end(f"the server is gone: {reason}")
        self.ended.set()

    def _note(self, note: jsonrpc.Notification) -> None:
        """To who called, where that can be told, else to everybody."""
        callers = set(self._running.values())
        to = [callers.pop()] if len(callers) == 1 else []
        params = jsonrpc.decode(note.params) if note.params else {}
        kind = kind_of("mcp/request", Operation(note.method, params))
        try:
            if self.participant is not None:
                payload = jsonrpc.notification(note.method, params)
                self.participant.say(kind, payload, to=to)
        except RoomError as problem:
            log.debug("a notification of the server was not passed on: %s", problem)

    async def _question(self, request: jsonrpc.Request) -> None:
        """The server asks: whoever called answers, where only one can be meant."""
        callers = set(self._running.values())
        params = jsonrpc.decode(request.params) if request.params else {}
        try:
            if len(callers) != 1 or self.participant is None:
                raise CallError(-32601, "it cannot be told whom the server asks")
            found = await self.participant.request(
                callers.pop(), request.method, params, timeout_s=self._answer_s
            )
            self._send(jsonrpc.response(request.id, jsonrpc.encode(found)))
        except CallError as problem:
            self._send(jsonrpc.error(request.id, (problem.code, str(problem))))
        except RoomError as problem:
            self._send(jsonrpc.error(request.id, (_INTERNAL, str(problem))))

    def _send(self, frame: bytes) -> None:
        try:
            if self._pipe is None:
                raise Closed("the server is gone")
            self._pipe.send(frame)
        except Closed as problem:
            self._asked.end(str(problem))


class HostSeat:
    """The receiver of a host's pipe. Its `respond` is the responder of the participant it sits as."""

    def __init__(self, *, server: str, outcome_s: float = ANSWER_S) -> None:
        """`server` is the participant that the host sees; `outcome_s` how long a proposal waits for somebody, and the
        server for the host."""
        self.participant: Participant | None = None
        self.ended = asyncio.Event()
        self._server = server
        self._outcome_s = outcome_s
        self._pipe: Pipe | None = None
        self._asked = _Questions("room", outcome_s)
        self._tasks: dict[bytes, asyncio.Task[None]] = {}

    def attach(self, pipe: Pipe) -> None:
        """Use this pipe to the host."""
        self._pipe = pipe

    async def respond(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """What the server asks of the host, or tells it. Others get no way through to it."""
        members = jsonrpc.decode_members(frame)
        ident = members.get("id")
        if envelope.sender != self._server:
            said = "this participant's host is there for one participant alone"
            return None if ident is None else jsonrpc.error(bytes(ident), (-32601, said))
        if ident is None:
            if bytes(members.get("method", b"")) == _CANCELLED:
                self._asked.cancel(members, envelope.sender, self._send)
            else:
                self._send(frame)
            return None
        return await self._asked.put(members, envelope.sender, self._send)

    # -- the pipe's

    def message(self, data: bytes) -> None:
        """The host says something."""
        message = jsonrpc.parse(data)
        if isinstance(message, jsonrpc.Response):
            self._asked.answer(message)
        elif isinstance(message, jsonrpc.Malformed):
            if not self._asked.settled(message, data):
                self._send(jsonrpc.error(message.id, (message.code, message.message)))
        elif isinstance(message, jsonrpc.Request):
            if message.id in self._tasks:
                # Said again, it would be done twice; and the host would take an error for the answer to the first.
                log.warning("the host says request %s again, which runs already", message.id[:99])
                return
            task = asyncio.get_running_loop().create_task(self._relay(message))
            self._tasks[message.id] = task
            task.add_done_callback(lambda _: self._tasks.pop(message.id, None))
        elif message.method == "notifications/cancelled":
            self._cancel(message)
        else:
            self._notify(message)

    def closed(self, reason: str) -> None:
        """The host is gone."""
        self._pipe = None
        self._asked.end(f"the host is gone: {reason}")
        for task in list(self._tasks.values()):
            task.cancel()
        self.ended.set()

    async def _relay(self, request: jsonrpc.Request) -> None:
        try:
            params = jsonrpc.decode(request.params) if request.params else {}
            found = await self._made(Operation(request.method, params))
            answer = jsonrpc.response(request.id, jsonrpc.encode(found))
        except CallError as problem:
            answer = jsonrpc.error(request.id, (problem.code, str(problem), problem.data))
        except (RoomError, ValueError) as problem:
            answer = jsonrpc.error(request.id, (_INTERNAL, str(problem)))
        self._send(answer)

    async def _made(self, operation: Operation) -> Any:
        """The result of an operation: requested, or else proposed and fulfilled by somebody."""
        participant = self.participant
        if participant is None:
            raise RoomError("there is no room yet")
        try:
            return await participant.request(
                self._server, operation.method, operation.params, timeout_s=self._outcome_s
            )
        except NotAllowedError:
            if not participant.capabilities.allows(kind_of("mcp/proposal", operation)):
                raise
        pending = participant.propose(operation.method, operation.params, to=[self._server])
        return await pending.outcome(timeout_s=self._outcome_s)

    def _cancel(self, note: jsonrpc.Notification) -> None:
        """The host gives up on a request: who was asked is told, and what was proposed is withdrawn."""
        params = jsonrpc.decode_members(note.params) if note.params else {}
        task = self._tasks.get(bytes(params.get("requestId", b"")))
        if task is not None:
            task.cancel()

    def _notify(self, note: jsonrpc.Notification) -> None:
        params = jsonrpc.decode(note.params) if note.params else {}
        try:
            if self.participant is not None:
                self.participant.notify(self._server, note.method, params)
        except RoomError as problem:
            log.debug("a notification of the host was not passed on: %s", problem)

    def _send(self, frame: bytes) -> None:
        try:
            if self._pipe is not None:
                self._pipe.send(frame)
        except Closed as problem:
            self.closed(problem.reason)


def _asks(data: bytes) -> bool:
    """Whether a message has a method, and so is no answer."""
    try:
        return "method" in jsonrpc.members_named(data, "method")
    except ValueError:
        return False


def _cancelled(ident: bytes) -> bytes:
    return jsonrpc.notification("notifications/cancelled", {"requestId": jsonrpc.decode(ident)})


def _as_error(error: bytes) -> CallError:
    found = jsonrpc.decode(error)
    if not isinstance(found, dict) or not isinstance(found.get("code"), int):
        return CallError(_INTERNAL, "an error that cannot be read")
    return CallError(found["code"], str(found.get("message", "")), found.get("data"))

"""Bridges MCP pipes into a room: `ServerSeat` seats a server; `HostSeat` shows a host one participant as a server, using proposals.

`ServerSeat` lets everybody in the room use one server: each request gets an id of its own on the pipe, and what the server asks
goes to who called, where that can be told. `HostSeat` is the other way round: to its host one participant of the room looks
like a server. What the host may not request it proposes instead, and waits for somebody to fulfil it.

Both are the receiver of their pipe; `attach` gives it to them.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Operation, Said, kind_of
from gatewright.rooms.participants.errors import CallError, NotAllowedError, RoomError
from gatewright.rooms.participants.participant import Heard, Participant
from gatewright.rooms.participants.pipe_requests import NOBODY, PipeRequests, asks
from gatewright.rooms.participants.shared_session import SharedSession, spelled
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
_CANCELLED, _PROGRESS = "notifications/cancelled", "notifications/progress"
_OF_THE_SERVER = ("/list_changed", "notifications/resources/updated")
"""How notifications end that tell of the server as a whole, and of no call."""


class _Seat(ABC):
    """Sits in a room for somebody at the other end of a pipe, and hears who leaves it."""

    _participant: Participant | None = None

    @property
    def participant(self) -> Participant | None:
        """Who it is in the room; None before it is there."""
        return self._participant

    @participant.setter
    def participant(self, participant: Participant) -> None:
        self._participant = participant
        participant.watchers.append(self._watch)

    @abstractmethod
    def _watch(self, heard: Heard) -> None:
        """Hear what the participant hears."""


class ServerSeat(_Seat):
    """A responder that asks a tool server. `attach` gives it the pipe, `greet` opens the one MCP session that all share."""

    def __init__(self, *, answer_s: float = ANSWER_S) -> None:
        """`answer_s` is how long a call may take, and what the server asks."""
        self.ended = asyncio.Event()
        self._pipe: Pipe | None = None
        self._answer_s = answer_s
        self._asked = PipeRequests("room", answer_s)
        self._session = SharedSession()
        self._warned = False
        self._hello: bytes = b"{}"
        self._questions: dict[bytes, asyncio.Task[None]] = {}
        """What the server asks and nobody has answered, by its own ids."""

    def _watch(self, heard: Heard) -> None:
        """What was asked by who leaves the room is cancelled: its place is for others."""
        who = _left(heard)
        if who is not None:
            self._asked.gone(who, self._send)
            for uri in self._session.left(who):
                self._end(uri)

    def _end(self, uri: str) -> None:
        """Nobody has a subscription any more, nor waits for the answer to that."""
        ident, future = self._asked.ask()
        future.cancel()
        self._send(jsonrpc.request(ident, "resources/unsubscribe", {"uri": uri}))

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
        self._hello = self._session.shown(found.result)
        self._send(jsonrpc.notification("notifications/initialized", {}))

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """Put the request of a participant to the server."""
        message, who = jsonrpc.parse(frame), envelope.sender
        if isinstance(message, jsonrpc.Notification):
            self._told(message, who)
        if not isinstance(message, jsonrpc.Request):
            return None
        refused = self._session.refusal(message.method)
        if refused:
            return jsonrpc.error(message.id, (jsonrpc.METHOD_NOT_FOUND, refused))
        # All members share the one session that `greet` opened, so all get its answer.
        if message.method == "initialize":
            return jsonrpc.response(message.id, self._hello)
        if message.method in ("resources/subscribe", "resources/unsubscribe"):
            return await self._subscribe(message, who)
        return await self._asked.put(spelled(message), who, self._send)

    def _told(self, note: jsonrpc.Notification, who: str) -> None:
        """Of what clients tell a server, what is about a request or a question of `who`. The session's begin was said by us, and it has no
        lists of roots that change; a request without an id would run for nobody, and what it asks would be asked of another."""
        if note.method == _CANCELLED:
            self._asked.cancel(spelled(note), who, self._send)
        elif note.method == _PROGRESS:
            params = self._session.progress(jsonrpc.decode(note.params or b"{}"), who)
            if params is not None:
                self._send(jsonrpc.notification(_PROGRESS, params))

    async def _subscribe(self, request: jsonrpc.Request, who: str) -> bytes:
        uri = jsonrpc.decode(request.params or b"{}").get("uri")
        if not isinstance(uri, str):
            return jsonrpc.error(request.id, (jsonrpc.INVALID_PARAMS, "uri must be a string"))
        if request.method == "resources/unsubscribe":
            if self._session.unsubscribe(uri, who) == "held":  # by others
                return jsonrpc.response(request.id, b"{}")
            return await self._asked.put(spelled(request), who, self._send)
        if self._session.subscribe(uri, who) == "crowded":
            crowded = "too many subscriptions, or a URI of more than 8192 characters; unsubscribe from others first"
            return jsonrpc.error(request.id, (_INTERNAL, crowded))
        granted = False
        try:
            answer = await self._asked.put(spelled(request), who, self._send)
            said = jsonrpc.parse(answer)
            granted = isinstance(said, jsonrpc.Response) and not said.error
        finally:  # what was given up the server may have begun, or another may have had it
            if self._session.settle(uri, who, granted=granted) == "ask":
                self._end(uri)
        return answer

    # -- the pipe's

    def message(self, data: bytes) -> None:
        """The server says something."""
        message = jsonrpc.parse(data)
        if isinstance(message, jsonrpc.Response):
            self._asked.answer(message)
        elif isinstance(message, jsonrpc.Request):
            if message.id in self._questions:
                log.warning("the server asks %s again, which waits already", message.id[:99])
                return
            # Whose it is follows from what runs now: an answer may come with the next line.
            asking = self._question(message, self._whom())
            task = asyncio.get_running_loop().create_task(asking)
            self._questions[message.id] = task
            task.add_done_callback(lambda _: self._questions.pop(message.id, None))
        elif isinstance(message, jsonrpc.Notification):
            self._note(message)
        elif not self._asked.settled(message, data) and message.id != b"null" and asks(data):
            self._send(jsonrpc.error(message.id, (message.code, message.message)))

    def closed(self, reason: str) -> None:
        """The server is gone."""
        self._pipe = None
        self._asked.end(f"the server is gone: {reason}")
        for task in list(self._questions.values()):
            task.cancel()
        self.ended.set()

    def _note(self, note: jsonrpc.Notification) -> None:
        """To whose call it is about. Nobody hears what may be about a call of several, or of one who is gone; what is about no
        call is for everybody."""
        params = jsonrpc.decode(note.params) if note.params else {}
        if note.method == _CANCELLED:
            question = self._questions.get(jsonrpc.encode(params.get("requestId")))
            if question is not None:
                question.cancel()  # which tells who was asked, under the id that it knows
            return
        found = self._heard_by(note.method, params)
        if found is None or self.participant is None:
            log.debug("nobody is told %s of the server", note.method[:99])
            return
        to, params = found
        kind = kind_of("mcp/request", Operation(note.method, params))
        try:
            self.participant.say(kind, jsonrpc.notification(note.method, params), to=to)
        except RoomError as problem:
            log.debug("a notification of the server was not passed on: %s", problem)

    def _heard_by(
        self, method: str, params: dict[str, Any]
    ) -> tuple[list[str], dict[str, Any]] | None:
        """Who hears a notification (nobody by name: everybody), and what it says to them; None where nobody does."""
        if method == _PROGRESS:
            found = self._asked.progress(params)
            return None if found is None else ([found[0]], found[1])
        senders = set[str]() if method.endswith(_OF_THE_SERVER) else self._asked.senders
        if len(senders) > 1 or NOBODY in senders:
            return None
        return [*senders], params

    def _whom(self) -> str:
        """Whom the server asks: whoever called, where only one can be meant, who still waits."""
        senders = self._asked.senders
        if not self._warned and self._asked.haunted:
            self._warned = True
            log.warning(
                "the server asks, and it cannot be told whom: it has not answered a call that was given up, and may work on it still. "
                "Such a call counts for some minutes; who starts the server anew has it forgotten at once"
            )
        who = senders.pop() if len(senders) == 1 else NOBODY
        return who if self._asked.waits(who) else NOBODY

    async def _question(self, request: jsonrpc.Request, who: str) -> None:
        token = ""
        try:
            params = jsonrpc.decode(request.params) if request.params else {}
            if self.participant is None or who == NOBODY:
                raise CallError(-32601, "it cannot be told whom the server asks")
            params, token = self._session.question(params, who)
            found = await self.participant.request(
                who, request.method, params, timeout_s=self._answer_s
            )
            self._send(jsonrpc.response(request.id, jsonrpc.encode(found)))
        except CallError as problem:
            self._send(jsonrpc.error(request.id, (problem.code, str(problem))))
        except (RoomError, ValueError) as problem:
            self._send(jsonrpc.error(request.id, (_INTERNAL, str(problem))))
        finally:
            self._session.answered(token)

    def _send(self, frame: bytes) -> None:
        try:
            if self._pipe is None:
                raise Closed("the server is gone")
            self._pipe.send(frame)
        except Closed as problem:
            self._asked.end(str(problem))


class HostSeat(_Seat):
    """The receiver of a host's pipe. Its `respond` is the responder of the participant it sits as."""

    def __init__(self, *, server: str, outcome_s: float = ANSWER_S) -> None:
        """`server` is the participant that the host sees; `outcome_s` how long a proposal waits for somebody, and the
        server for the host."""
        self.ended = asyncio.Event()
        self._server = server
        self._outcome_s = outcome_s
        self._pipe: Pipe | None = None
        self._asked = PipeRequests("room", outcome_s)
        self._tasks: dict[bytes, asyncio.Task[None]] = {}

    def _watch(self, heard: Heard) -> None:
        """What the host would answer to a server that has left would go to whoever is called so next."""
        if _left(heard) == self._server:
            self._asked.gone(self._server, self._send)

    def attach(self, pipe: Pipe) -> None:
        """Use this pipe to the host."""
        self._pipe = pipe

    async def respond(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """What the server asks of the host, or tells it. Others get no way through to it."""
        message = jsonrpc.parse(frame)
        if isinstance(message, jsonrpc.Notification):
            if envelope.sender == self._server:
                self._told(message)
            return None
        if not isinstance(message, jsonrpc.Request):
            return None
        if envelope.sender != self._server:
            said = "this participant's host is there for one participant alone"
            return jsonrpc.error(message.id, (jsonrpc.METHOD_NOT_FOUND, said))
        return await self._asked.put(spelled(message), envelope.sender, self._send)

    def _told(self, note: jsonrpc.Notification) -> None:
        if note.method == _CANCELLED:
            self._asked.cancel(spelled(note), self._server, self._send)
        elif note.method.startswith("notifications/"):  # a request without an id is none
            self._send(jsonrpc.encode(spelled(note)))

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
        elif message.method == _CANCELLED:
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
        if note.method == _PROGRESS:
            found = self._asked.progress(params)
            if found is None:
                return  # of nothing that waits
            params = found[1]
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


def _left(heard: Heard) -> str | None:
    """Who leaves the room, by a message; None where nobody does."""
    content = heard.content
    if not isinstance(content, Said) or content.payload.get("event") != "leave":
        return None
    who = content.payload.get("participant")
    name = who.get("id") if isinstance(who, dict) else None
    return name if isinstance(name, str) else None


def _as_error(error: bytes) -> CallError:
    found = jsonrpc.decode(error)
    if not isinstance(found, dict) or not isinstance(found.get("code"), int):
        return CallError(_INTERNAL, "an error that cannot be read")
    return CallError(found["code"], str(found.get("message", "")), found.get("data"))

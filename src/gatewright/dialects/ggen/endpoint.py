"""`Ggen`: ggen's JSON-RPC over HTTP and WebSocket at `/rpc`, batches too, and at `/mcp` if the body has `auth`; authenticates each request.

The credential may stand inside the request, so this endpoint authenticates by itself: each request,
each one of a batch, each frame of a WebSocket. A credential in the `Authorization` header counts for all
of them; a member that says something else than the header is refused (decision C-36).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Answer, Call, Caller, Failure, Outcome, Refusal
from gatewright.dialects.one_shot import BROKEN, OneShotCalls, Shown, Who, unless_gone, unreadable
from gatewright.mcp.protocol import ggen
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest, Receive
from gatewright.mcp.server.http_responses import Send, challenge, send_pieces, send_plain
from gatewright.mcp.server.in_flight import InFlight
from gatewright.mcp.server.routes import Handler, Profiles, Routes, Socket, Upgrade, profile_of
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.server.websocket import Sockets
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import Reason
from gatewright.transport.base import Closed, Pipe
from gatewright.transport.slices import by_and_by

__all__ = ["ROOT", "SUBPROTOCOL", "Ggen"]

log = logging.getLogger("gatewright.doors")

ROOT = "/rpc"
SUBPROTOCOL = "ggen"
"""Taken where a WebSocket client offers it; one that offers none is served, too."""

_IN_FLIGHT = 1024
_LONG = 8 * 1024
"""Bytes of a message; a shorter one is read in a millisecond."""
_STRANGER_S = 10.0
"""How long a WebSocket may stay open before anybody showed a credential that is good."""


class _Said(msgspec.Struct, frozen=True):
    """The answer to one message: its frame, and the reason where it is an error."""

    frame: bytes
    row: Reason | None = None
    known: bool = False
    """Whether it is known who sent the message."""
    scope: str = ""
    """What a token would need that is not enough."""


class Ggen:
    """Serves the HTTP requests and the WebSockets."""

    def __init__(self, front: ServerContext, shown: Shown) -> None:
        self._front = front
        self._calls = OneShotCalls(front, shown, "ggen")
        self._sockets = Sockets(front)
        self.routes = Routes(
            find=self._find,
            socket=self._socket,
            resource=self._resource,
            body=self.serve,
            unknown=self.instead,
            close=self.close,
        )
        """`/rpc`, that of each profile, and what of `/mcp` is ggen's by its body."""

    @staticmethod
    def _resource(path: str, profiles: Profiles) -> str | None:
        return None if profile_of(path, ROOT, profiles) is None else path

    def _find(self, path: str, profiles: Profiles) -> Handler | None:
        profile = profile_of(path, ROOT, profiles)
        if profile is None:
            return None

        async def serve(connection: Connection, headers: HttpHeaders) -> None:
            await self(connection, headers, headers.credential, profile)

        return serve

    def _socket(self, path: str, profiles: Profiles) -> Socket | None:
        profile = profile_of(path, ROOT, profiles)
        if profile is None:
            return None

        async def serve(asked: Upgrade) -> bool:
            if asked.of_page:
                return False
            await self.socket(asked.scope, asked.receive, asked.send, asked.credential, profile)
            return True

        return serve

    # -- HTTP

    async def __call__(
        self,
        connection: Connection,
        headers: HttpHeaders,
        credential: str | None,
        profile: str,
    ) -> None:
        """Serve one HTTP request."""
        http = _request(connection, headers, credential, profile)
        if connection.scope["method"] != "POST":
            await send_plain(http.send, 405, headers=((b"allow", b"POST"),))
            return
        body = await http.body(self._front.frame_bytes)
        if body is not None:
            await self.serve(http, body)

    async def instead(self, connection: Connection, headers: HttpHeaders, profile: str) -> bool:
        """Serve a request to `/mcp` that nobody is known for, where its body says who sends it. False
        where it has to be refused; its body may have been read then."""
        # Clients of MCP send that header, and no `auth` in the body.
        if connection.scope["method"] != "POST" or b"mcp-protocol-version" in headers.values:
            return False
        http = _request(connection, headers, None, profile)
        if headers.flaw is not None:
            return False
        body = await http.body(self._front.frame_bytes)
        if body is None:
            return True  # it was answered
        if not ggen.says_auth(body):
            return False
        await self.serve(http, body)
        return True

    async def serve(self, http: HttpRequest, body: bytes) -> None:
        """Answer a body that has been read."""
        batch = body.lstrip()[:1] == b"["
        serve = self._batch if batch else self._one
        work = serve(body, http.credential, http.profile, InFlight())
        said = await unless_gone(http, work)
        if said is None:
            return  # nobody is there any more
        if not said.frame:
            await send_plain(http.send, 204)
            return
        row = said.row
        status = 200 if row is None else row.mcp_http
        challenged = row is not None and (status == 401 or said.scope)
        more = challenge(row.name, said.scope) if row is not None and challenged else ()
        await send_pieces(http.send, said.frame, status, more)

    async def _batch(
        self, body: bytes, header: str | None, profile: str, flight: InFlight
    ) -> _Said:
        texts = jsonrpc.split(body, self._front.limits)
        if isinstance(texts, jsonrpc.Malformed):
            return self._error(texts.id, ggen.refusal_of(texts), self._fresh())
        # JSON-RPC 2.0 §6 lets answers come in any order; here they keep that of the requests.
        done = await asyncio.gather(*(self._one(text, header, profile, flight) for text in texts))
        frames = [one.frame for one in done if one.frame]
        known = any(one.known for one in done)
        return _Said(b"[" + b",".join(frames) + b"]" if frames else b"", known=known)

    # -- one message

    async def _one(
        self, text: bytes | msgspec.Raw, header: str | None, profile: str, flight: InFlight
    ) -> _Said:
        """The answer to one message; an empty frame where it has none."""
        path = f"/rpc/{profile}" if profile else "/rpc"
        early = await self._early(text, header, path) if len(text) > _LONG else None
        if isinstance(early, _Said):
            return early
        asked = ggen.read(text, self._front.limits, header)
        if asked is None:
            return _Said(b"")
        if isinstance(asked, ggen.Flawed):
            return self._flawed(asked, header)
        caller = early or await self._front.admit(self._calls.door, asked.credential, path)
        ident = asked.inbound.id
        if isinstance(caller, Refusal):
            return self._error(ident, caller, self._fresh())
        twice = flight.taken(ident)
        if twice is not None:
            return self._flawed(ggen.Flawed(ident, twice), asked.credential)
        return await flight.through(ident, self._handled(asked, caller, profile))

    async def _handled(self, asked: ggen.Asked, caller: Caller, profile: str) -> _Said:
        ident = asked.inbound.id
        who = Who(caller, asked.credential, profile)
        try:
            call, outcome = await self._calls.handle(asked.inbound, who)
            return replace(await self._answer(ident, call, outcome), known=True)
        except Exception:
            log.exception("a request could not be served")
            return replace(
                self._error(ident, Failure("internal", BROKEN, once=True), self._fresh()),
                known=True,
            )

    async def _early(
        self, text: bytes | msgspec.Raw, header: str | None, path: str
    ) -> Caller | _Said | None:
        """Whose a long message is, before it is read: that takes its time, which strangers have none of. What they are answered
        otherwise; None where it does not say clearly who sends it, and is refused by who reads it."""
        said = ggen.presented(text, header)
        if said is None:
            return None
        caller = await self._front.admit(self._calls.door, said[1], path)
        if isinstance(caller, Refusal):
            return self._error(said[0], caller, self._fresh())
        return caller

    def _flawed(self, flawed: ggen.Flawed, header: str | None) -> _Said:
        said = self._error(flawed.id, flawed.refusal, self._fresh())
        caller = self._front.identify(self._calls.door, header)
        if said.row is not None and not isinstance(caller, Refusal):
            code, message = said.row.ggen_code, flawed.refusal.message
            self._front.refused(caller, self._calls.door, code, message)
        return said

    async def _answer(self, ident: bytes, call: Call, outcome: Outcome) -> _Said:
        if isinstance(outcome, Answer) and outcome.tool_error:
            outcome = ggen.tool_error_of(outcome)
        if isinstance(outcome, Answer):
            result = await self._calls.result(outcome, call.method)
            if call.method != "tools/list" or not self._hidden(call, result):
                return _Said(jsonrpc.response(ident, result))
            outcome = unreadable(call.caller)
        return self._error(ident, outcome, call.trace_id, call)

    def _hidden(self, call: Call, result: bytes) -> bool:
        """Whether a list is empty for this caller alone (decision C-32)."""
        listed = bytes(jsonrpc.decode_members(result)["tools"])
        return listed == b"[]" and self._calls.hides(call.profile)

    def _error(
        self, ident: bytes, outcome: Refusal | Failure, trace_id: str, call: Call | None = None
    ) -> _Said:
        method, name = ("", "") if call is None else (call.method, call.name)
        refused = call is not None and outcome.reason == "invalid_args"
        flaws = self._calls.flaws(call) if refused and call is not None else None
        error, row = ggen.error_of(outcome, trace_id, method=method, tool=name, flaws=flaws)
        return _Said(jsonrpc.error(ident, error), row, scope=str(outcome.details.get("scope", "")))

    def _fresh(self) -> str:
        return self._front.random(16).hex()

    # -- WebSocket

    async def socket(
        self,
        scope: Mapping[str, Any],
        receive: Receive,
        send: Send,
        credential: str | None,
        profile: str,
    ) -> None:
        """Serve one WebSocket until it closes."""
        peer = _Socket(self, credential, profile)
        await self._sockets.serve(scope, receive, send, peer, SUBPROTOCOL)

    def knows(self, credential: str | None) -> Presented | None:
        """Whose a credential is; None where it is nobody's."""
        found = self._front.identify(self._calls.door, credential)
        return (
            None if isinstance(found, Refusal) else Presented(self._calls.door, found, credential)
        )

    async def reply(
        self, data: bytes, header: str | None, profile: str, flight: InFlight
    ) -> tuple[bytes, bool]:
        """The answer to one frame, and whether it was given to somebody who is known."""
        batch = data.lstrip()[:1] == b"["
        said = await (self._batch if batch else self._one)(data, header, profile, flight)
        return said.frame, said.known

    async def close(self) -> None:
        """Close every WebSocket."""
        self._sockets.close()


class _Socket:
    """The receiver of one WebSocket: each frame is a request of its own, answered when it is done."""

    def __init__(self, door: Ggen, credential: str | None, profile: str) -> None:
        self._door = door
        self._credential = credential
        self._profile = profile
        self._pipe: Pipe | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._flight = InFlight()
        self._opened = door.knows(credential)
        self._known = self._opened is not None
        self._patience: asyncio.TimerHandle | None = None

    @property
    def presented(self) -> Presented | None:
        """Who opened it, where a header said that; who says it in each request opened nothing."""
        return self._opened

    @property
    def busy(self) -> bool:
        """Whether a request is still to be answered."""
        return bool(self._tasks)

    def attach(self, pipe: Pipe) -> None:
        """From now on answers go to this pipe."""
        self._pipe = pipe
        if not self._known:
            loop = asyncio.get_running_loop()
            self._patience = loop.call_later(_STRANGER_S, pipe.close)

    def message(self, data: bytes) -> None:
        """Take one frame."""
        if len(self._tasks) >= _IN_FLIGHT:
            busy = f"at most {_IN_FLIGHT} requests of one connection run at once"
            self._say(jsonrpc.error(b"null", (jsonrpc.INVALID_REQUEST, busy)))
            return
        task = asyncio.get_running_loop().create_task(self._serve(data))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, data: bytes) -> None:
        frame, known = await self._door.reply(data, self._credential, self._profile, self._flight)
        if known and not self._known:
            self._known = True
            self._calm()
        if frame:
            self._say(frame)

    def _say(self, frame: bytes) -> None:
        if self._pipe is not None:
            try:
                self._pipe.send(frame)
            except Closed:
                self._pipe = None

    def _calm(self) -> None:
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def closed(self, reason: str) -> None:
        """The client is gone: what it asked for is cancelled."""
        self._pipe = None
        self._calm()
        by_and_by([task.cancel for task in self._tasks])


def _request(
    connection: Connection, headers: HttpHeaders, credential: str | None, profile: str
) -> HttpRequest:
    """A request of whom nobody knows yet who sends it."""
    return HttpRequest(
        *connection,
        headers,
        ANONYMOUS,
        profile,
        lambda *_: None,
    )

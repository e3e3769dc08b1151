"""`ModernHttp`: serves POSTs of MCP 2026-07-28, each alone, repeated tool calls by a shorter path; cancels calls of clients that leave.

A client that keeps its connection sends the same head again and again and says the same of itself, so the way of a tool's call that comes
again is short (`again`): what head and body must agree in is compared once more, and who it is may be another one each time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from functools import partial
from typing import Any

from gatewright.call import Caller, Client
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Dropped, read_notice
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_reply import HttpReply
from gatewright.mcp.server.http_request import HttpRequest, alone
from gatewright.mcp.server.http_responses import Send, Whole, send_plain
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.server.served_request import ServedRequest
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import check_headers
from gatewright.mcp.wire.methods import NOTIFICATIONS, is_known
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.transport.timers import Timers

__all__ = ["Answering", "ModernHttp", "gone", "reply_of", "taken"]

_WATCH_AFTER_S = 0.02
"""A modern call is cancelled when its client goes away; where the HTTP server does not tell us, calls
quicker than this are not watched."""

Answering = Coroutine[Any, Any, None]
"""What is left to do of a request, to be awaited at once. What leads to it is no coroutine of its own: each would be
resumed on every way back from a server."""

_POSTED_RESPONSE = jsonrpc.Malformed(jsonrpc.INVALID_REQUEST, "a response cannot be posted")


class ModernHttp:
    """The modern half of `/mcp`, and of `/mcp/PROFILE`."""

    def __init__(self, front: ServerContext, parked: PendingInputs[ServedRequest]) -> None:
        self._front = front
        self._parked = parked
        self._loop = asyncio.get_running_loop()
        self._alarms = Timers()

    def __call__(self, http: HttpRequest, body: bytes) -> Answering:
        """Serve one POST whose head, or whose body where that says nothing, is modern."""
        return self._message(http, jsonrpc.parse(body, self._front.limits))

    def again(
        self, whole: Whole, said: HttpHeaders, caller: Caller, profile: str
    ) -> Answering | None:
        """Serve a request with headers that were looked at before (`HttpHeaders.in_no_session`); None where its body is not all there."""
        front = self._front
        body = whole.take_whole(front.frame_bytes)
        if body is None:
            return None
        message = jsonrpc.parse(body, front.limits)
        if type(message) is not jsonrpc.Request:
            return self._message(
                HttpRequest.of(whole, said, caller, profile, front.refused), message
            )
        effect = mcp.read_modern(message, front.face, said.version, said.introduction)
        if type(effect) is not mcp.Inbound or not _agree(front, said, effect, caller, profile):
            http = HttpRequest.of(whole, said, caller, profile, front.refused)
            return self._effect(http, message, effect)
        peer = alone(front, self._parked, caller, said.credential, profile)
        work = peer.serve(effect, reply_of(whole.send, whole, said, front.queue_bytes))
        whole.when_gone(partial(gone, peer, message.id))
        return work

    def _message(self, http: HttpRequest, message: jsonrpc.Message) -> Answering:
        front, said = self._front, http.headers
        if isinstance(message, jsonrpc.Notification):
            return self._notice(http, message)
        if isinstance(message, jsonrpc.Request):
            effect = mcp.read_modern(message, front.face, said.version)
            return self._effect(http, message, effect)
        flaw = message if isinstance(message, jsonrpc.Malformed) else _POSTED_RESPONSE
        error = jsonrpc.encode({"code": flaw.code, "message": flaw.message})
        return self._reply(http).finish(flaw.id, Spelled(error=error, http=400))

    def _reply(self, http: HttpRequest) -> HttpReply:
        return reply_of(http.send, http.whole, http.headers, self._front.queue_bytes)

    def _effect(
        self,
        http: HttpRequest,
        message: jsonrpc.Request,
        effect: mcp.Effect,
        *,
        waited: bool = False,
    ) -> Answering:
        """Do what a request asks for, where its head agrees."""
        front, whole = self._front, http.whole
        # Waited for once: servers may change their lists faster than their names are made.
        look = message.method == "tools/call" and not waited
        making = front.upstream.making(http.profile) if look else None
        if making is not None:  # what its head has to say is in the definition of the tool
            return self._later(making, http, message, effect)
        effect = http.disagreement(front, effect, message.method) or effect
        if type(effect) is mcp.Listen and not http.headers.reads_streams:
            return http.refuse(406, "accept text/event-stream to listen", ident=effect.id)
        peer = http.peer(front, self._parked)
        work = peer.serve(effect, self._reply(http))
        if whole is None:
            return self._serve_watched(peer, message.id, work, http)
        whole.when_gone(partial(gone, peer, message.id))
        return work

    async def _later(
        self,
        making: Awaitable[None],
        http: HttpRequest,
        message: jsonrpc.Request,
        effect: mcp.Effect,
    ) -> None:
        await making
        await self._effect(http, message, effect, waited=True)

    def _notice(self, http: HttpRequest, message: jsonrpc.Notification) -> Answering:
        """The core protocol has none over modern HTTP: what operators declared is led on, all others are acknowledged."""
        said, method = http.headers, message.method
        flaw = "mcp-method" in said.routing() and (
            said.duplicated() or check_headers(said.routing(), method, {}, {})
        )
        if flaw:
            return http.refuse(400, flaw, -32020)
        if is_known(method) and method.startswith(NOTIFICATIONS):
            return send_plain(http.send, 202)
        notice = read_notice(message, Client(said.version or LATEST_MODERN))
        return taken(http, http.peer(self._front, self._parked), notice)

    async def _serve_watched(
        self, peer: ClientSession, ident: bytes, work: Answering, http: HttpRequest
    ) -> None:
        """Serve; closing the connection cancels, unless the request has been answered."""
        watchers: list[asyncio.Task[None]] = []

        def watch() -> None:
            watchers.append(asyncio.create_task(_cancel_when_gone(http, peer, ident)))

        timer = self._alarms.at(self._loop.time() + _WATCH_AFTER_S, watch)
        try:
            await work
        finally:
            timer.cancel()
            for one in watchers:
                one.cancel()


def reply_of(send: Send, whole: Whole | None, said: HttpHeaders, most: int) -> HttpReply:
    """The answer to a request that stands alone; `most` bytes may wait for a client that does not read."""
    reply = HttpReply(send, said.reads_streams, most, whole, modern=True)
    reply.small = said.small_events
    return reply


def taken(http: HttpRequest, peer: ClientSession, effect: mcp.Effect | None) -> Answering:
    """What nobody is answered about: done, or refused with a status."""
    if isinstance(effect, Dropped):
        return http.refuse(400, effect.message, effect.code)
    if effect is not None:
        peer.take(effect)
    return send_plain(http.send, 202)


def _agree(
    front: ServerContext, said: HttpHeaders, call: mcp.Inbound, caller: Caller, profile: str
) -> bool:
    """Whether it is plain that head and body agree: a tool is called whose name the head says as it is, and of whose arguments the
    head has to say none. All else is found out by `HttpRequest.disagreement`."""
    name = said.called
    return (
        call.method == "tools/call"
        and name is not None
        and call.params["name"] == name
        and front.upstream.making(profile) is None
        and not front.upstream.annotations(profile, name, caller)
    )


async def _cancel_when_gone(http: HttpRequest, peer: ClientSession, ident: bytes) -> None:
    """Cancel the request, which means nothing to one that has been answered."""
    await http.gone()
    gone(peer, ident)


def gone(peer: ClientSession, ident: bytes) -> None:
    """The client of a modern request has left."""
    peer.take(mcp.Cancelled(ident))

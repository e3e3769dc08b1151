"""`subscriptions/listen` (MCP 2026-07-28): change notifications on one request's own stream.

The acknowledgement is the first message, every message carries the id of the request, and only what
was asked for is sent. Resources are subscribed to by ordinary calls through the kernel, so policy holds
for them as for everything else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from gatewright.call import Answer, Call, Caller, CannotAsk, Event, Question
from gatewright.doors.exchange import Reply
from gatewright.doors.front import Front
from gatewright.protocol import eras
from gatewright.protocol import mcp_server as mcp
from gatewright.protocol.verdicts import Spelled
from gatewright.wire import jsonrpc
from gatewright.wire.versions import METHODS

__all__ = ["Listening"]

_WANTED = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
}


class _Deaf:
    """The `Back` of calls that nobody waits for."""

    def emit(self, event: Event) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody waits for this call")


class Listening:
    """One subscription."""

    def __init__(
        self,
        front: Front,
        call: Callable[[mcp.Inbound], Call],
        listen: mcp.Listen,
        reply: Reply,
    ) -> None:
        self._front = front
        self._call = call
        self._listen = listen
        self._reply = reply
        self._ident = jsonrpc.decode(listen.id)
        self._honoured: dict[str, Any] = {}

    async def run(self, caller: Caller, profile: str) -> None:
        """Serve until cancelled, which is how a listen ends."""
        try:
            self._honoured = eras.acknowledgement(self._listen.wanted, self._front.subscriptions)
        except ValueError as problem:
            error = jsonrpc.encode({"code": jsonrpc.INVALID_PARAMS, "message": str(problem)})
            await self._reply.finish(self._listen.id, Spelled(error=error, http=400))
            return
        uris = self._honoured.get("resourceSubscriptions", [])
        self._notify("notifications/subscriptions/acknowledged", {"notifications": self._honoured})
        unwatch = self._front.upstream.watch(caller, profile, self._changed)
        subscribed = [uri for uri in uris if await self._resource("resources/subscribe", uri)]
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            unwatch()
            for uri in subscribed:
                await self._resource("resources/unsubscribe", uri)

    async def _resource(self, method: str, uri: str) -> bool:
        inbound = mcp.Inbound(
            self._listen.id, method, {"uri": uri}, self._listen.client, METHODS[method]
        )
        outcome = await self._front.kernel.handle(self._call(inbound), _Deaf())
        return isinstance(outcome, Answer)

    def _changed(self, server: str, method: str, params: dict[str, Any]) -> None:
        wanted = _WANTED.get(method)
        if wanted in self._honoured or (
            method == "notifications/resources/updated"
            and params.get("uri") in self._honoured.get("resourceSubscriptions", ())
        ):
            self._notify(method, params)

    def _notify(self, method: str, params: dict[str, Any]) -> None:
        self._reply.event(jsonrpc.notification(method, eras.tag(params, self._ident)))

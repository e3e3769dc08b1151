"""`BackgroundPosts`: sends notifications, and responses to requests of an HTTP server, by POST; each in the session that it is of."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Literal

from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import SESSION
from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.client.response_queue import ResponseQueue
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.http_client import OnMessage, UpstreamError

__all__ = ["NOBODY", "BackgroundPosts"]

log = logging.getLogger("gatewright.mcp.client")

NOBODY = "nobody waits for the answer any more"

BACKGROUND_S = 30.0
"""The time limit of what nobody waits for."""
LAST_S = 1.0
"""And of what is on its way as the connection is closed."""


class BackgroundPosts:
    """Of one connection. `headers` are what goes with a method and its params, `taker` makes what takes that which comes in answer in a session, `spawn` does
    what ends with the connection. Without a word of the session, it is that which the connection has at the moment."""

    def __init__(
        self,
        server: str,
        wire: HttpEndpoint,
        headers: Callable[[str, Mapping[str, Any]], Mapping[str, str]],
        taker: Callable[[str | None], OnMessage],
        spawn: Callable[[Coroutine[Any, Any, Any]], asyncio.Task[Any]],
    ) -> None:
        self.state: Literal["open", "unadmitted", "closed"] = "open"
        """A connection that takes no more calls is still told what belongs to those that run; in a session that was not let in, nothing is said."""
        self._server = server
        self._wire = wire
        self._headers = headers
        self._taker = taker
        self._spawn = spawn
        self._running: set[asyncio.Task[Any]] = set()
        self._answers = ResponseQueue(server, self._answer, self._begin)

    def notify(self, method: str, params: dict[str, Any], session: str | None = None) -> None:
        """Tell the server something. Lost without a word when the connection is gone."""
        if self._says(session):
            frame, within = jsonrpc.notification(method, params), session or self._wire.session
            self._begin(self._post(frame, method, params, within))

    def call_off(self, ident: int, session: str | None) -> None:
        """Say in a session that was lost, which may live on over there, that nobody waits for an answer."""
        if session is not None:
            about = {"requestId": ident, "reason": NOBODY}
            self.notify("notifications/cancelled", about, session)

    def refuse(self, request: jsonrpc.Request, session: str | None) -> None:
        """Answer what is asked in a session that was lost. One of several servers may know it still: a tool there would wait for ever, and
        who gets no answer to a ping hangs up."""
        if session is not None:
            lost = jsonrpc.INVALID_REQUEST, "the session was lost in which this is asked"
            pings = request.method == "ping"
            answer = jsonrpc.response(request.id, b"{}") if pings else None
            self.reply(answer or jsonrpc.error(request.id, lost), session)

    def reply(self, frame: bytes, session: str | None = None) -> None:
        """Answer a request of the server."""
        if self._says(session):
            self._answers.send(frame, session or self._wire.session)

    def remark(self, frame: bytes) -> None:
        """Send what the server may miss."""
        if self._says(None):
            self._answers.remark(frame, self._wire.session)

    def forget(self) -> None:
        """Nobody waits for answers any more."""
        self._answers.clear()

    def closed(self) -> set[asyncio.Task[Any]]:
        """Say nothing more. The result is what is on its way, that a call is given up for one, and ends within `LAST_S`."""
        self.state = "closed"
        self.forget()
        for task in self._running:
            asyncio.get_running_loop().call_later(LAST_S, task.cancel)
        return set(self._running)

    async def last(self) -> None:
        """Wait for what was on its way as the connection was closed."""
        if self._running:
            await asyncio.wait(set(self._running))

    def _begin(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._spawn(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    def _says(self, session: str | None) -> bool:
        return self.state == "open" or (self.state == "unadmitted" and session is not None)

    async def _answer(self, frame: bytes, session: str | None) -> None:
        await self._post(frame, "", {}, session)

    async def _post(
        self, frame: bytes, method: str, params: Mapping[str, Any], session: str | None
    ) -> None:
        headers = dict(self._headers(method, params))
        if session is not None:
            headers[SESSION] = session
        try:
            async with asyncio.timeout(BACKGROUND_S):
                await self._wire.post(frame, headers, self._taker(session))
        except (TimeoutError, UpstreamError, ServerFailed) as problem:
            what = method or "an answer"
            log.info("server %s was not told %s: %s", self._server, what, problem)

"""`HttpEndpoint` of an MCP client connection: POST, GET stream, DELETE; session, revision, token (new on 401/403); `WWW-Authenticate`.

Below the client connection, which knows messages, and above the transport, which knows connections.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.http_rules import SESSION, VERSION, names_a_request
from gatewright.transport.http_client import HttpUpstream, OnMessage, OnOpen, Posted

__all__ = ["HttpEndpoint", "challenges"]

log = logging.getLogger("gatewright.mcp.client")


class HttpEndpoint:
    """`headers` are the operator's own; `session` and `revision` are set once they are known, and go with each request that
    names no session itself.

    All requests raise `transport.http_client.UpstreamError`, and `ServerFailed` where there is no
    authorization to be had.
    """

    def __init__(
        self, http: HttpUpstream, headers: Mapping[str, str], authorizer: Authorizer | None = None
    ) -> None:
        self.session: str | None = None
        self.revision: str | None = None
        """What `MCP-Protocol-Version` says after a handshake that has the header."""
        self._http = http
        self._own = dict(headers)
        self._authorizer = authorizer
        self._renewals: set[asyncio.Task[bool]] = set()

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        on_message: OnMessage,
        on_open: OnOpen | None = None,
        *,
        acts: bool = False,
    ) -> Coroutine[Any, Any, Posted]:
        """Send one message and follow its answer to the end; see `HttpUpstream.post`. One that `acts` is not sent again after an
        answer to it, whatever the status of that."""
        return self._authorized(
            headers, lambda whole: self._http.post(body, whole, on_message, on_open=on_open), acts
        )

    async def listen(self, on_message: OnMessage, last_event_id: str = "") -> Posted:
        """Follow the stream for unsolicited messages, or one that broke off, to its end."""
        return await self._authorized(
            {},
            lambda whole: self._http.listen(whole, on_message, last_event_id=last_event_id or None),
        )

    @property
    def reachable(self) -> bool:
        """Whether any connection is open, and no others have been refused for long."""
        return self._http.reachable

    async def goodbye(self) -> None:
        """End the session, where there is one."""
        if self.session is not None:
            await self._authorized({}, self._http.delete)
            self.session = None

    async def close(self) -> None:
        """Close all connections."""
        for task in self._renewals:
            task.cancel()
        await self._http.close()

    async def _authorized(
        self,
        headers: Mapping[str, str],
        send: Callable[[dict[str, str]], Awaitable[Posted]],
        acts: bool = False,
    ) -> Posted:
        whole = {**self._own, **headers}
        if self.session is not None:
            # A probe names the session that it asks about by itself (`session_probe`).
            whole.setdefault(SESSION, self.session)
        if self.revision is not None:
            whole.setdefault(VERSION, self.revision)
        if self._authorizer is None:
            return await send(whole)
        return await self._with_tokens(self._authorizer, whole, send, acts)

    async def _with_tokens(
        self,
        authorizer: Authorizer,
        whole: dict[str, str],
        send: Callable[[dict[str, str]], Awaitable[Posted]],
        acts: bool,
    ) -> Posted:
        turn = 0
        while True:
            used = await authorizer.authorization()
            if used is not None:
                whole["Authorization"] = used
            posted = await send(whole)
            if posted.status not in (401, 403):
                return posted
            # A body that names a request was written by a server that had read it, and may have acted (decision 0059).
            answered = acts and names_a_request(posted.body or b"")
            renewing = authorizer.challenged(turn, posted.status, challenges(posted), used)
            if answered:
                self._renew(renewing)
                return posted
            if not await renewing:
                return posted
            turn += 1

    def _renew(self, renewing: Coroutine[Any, Any, bool]) -> None:
        """See to a token for later requests; nobody waits for it."""
        task = asyncio.ensure_future(renewing)
        self._renewals.add(task)
        task.add_done_callback(self._renewed)

    def _renewed(self, task: asyncio.Task[bool]) -> None:
        self._renewals.discard(task)
        problem = None if task.cancelled() else task.exception()
        if problem is not None:
            log.warning("no other token: %s", problem)


def challenges(posted: Posted) -> list[str]:
    """The `WWW-Authenticate` headers of an answer, of which there may be several."""
    getall = getattr(posted.headers, "getall", None)
    if getall is None:
        found = posted.headers.get("WWW-Authenticate")
        return [] if found is None else [found]
    return list(getall("WWW-Authenticate", []))

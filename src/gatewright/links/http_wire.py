"""One MCP endpoint as HTTP sees it: which headers a request carries, and whose token.

Below the link, which knows messages, and above the transport, which knows connections.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any

from gatewright.links.authorization import Authorizer
from gatewright.links.http_rules import SESSION, VERSION
from gatewright.transport.http_client import HttpUpstream, OnMessage, OnOpen, Posted

__all__ = ["HttpWire", "challenges"]


class HttpWire:
    """`headers` are the operator's own; `session` and `revision` are set once they are known, and go with each request that
    names no session itself.

    All requests raise `transport.http_client.UpstreamError`, and `UpstreamFailed` where there is no
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

    def post(
        self,
        body: bytes,
        headers: Mapping[str, str],
        on_message: OnMessage,
        on_open: OnOpen | None = None,
    ) -> Coroutine[Any, Any, Posted]:
        """Send one message and follow its answer to the end; see `HttpUpstream.post`."""
        return self._authorized(
            headers, lambda whole: self._http.post(body, whole, on_message, on_open=on_open)
        )

    async def listen(self, on_message: OnMessage, last_event_id: str = "") -> Posted:
        """Follow the stream for unsolicited messages, or one that broke off, to its end."""
        return await self._authorized(
            {},
            lambda whole: self._http.listen(whole, on_message, last_event_id=last_event_id or None),
        )

    async def goodbye(self) -> None:
        """End the session, where there is one."""
        if self.session is not None:
            await self._authorized({}, self._http.delete)
            self.session = None

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def _authorized(
        self, headers: Mapping[str, str], send: Callable[[dict[str, str]], Awaitable[Posted]]
    ) -> Posted:
        whole = {**self._own, **headers}
        if self.session is not None:
            whole.setdefault(SESSION, self.session)
        if self.revision is not None:
            whole.setdefault(VERSION, self.revision)
        if self._authorizer is None:
            return await send(whole)
        turn = 0
        while True:
            used = await self._authorizer.authorization()
            if used is not None:
                whole["Authorization"] = used
            posted = await send(whole)
            if posted.status not in (401, 403):
                return posted
            given = challenges(posted)
            if not await self._authorizer.challenged(turn, posted.status, given, used):
                return posted
            turn += 1


def challenges(posted: Posted) -> list[str]:
    """The `WWW-Authenticate` headers of an answer, of which there may be several."""
    getall = getattr(posted.headers, "getall", None)
    if getall is None:
        found = posted.headers.get("WWW-Authenticate")
        return [] if found is None else [found]
    return list(getall("WWW-Authenticate", []))

"""One MCP endpoint as HTTP sees it: which headers a request carries, and whose token.

Below the link, which knows messages, and above the transport, which knows connections.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Protocol

from gatewright.upstream.http_rules import ACCEPT, LAST_EVENT, SESSION, VERSION
from gatewright.wire.sse import SseEvent

__all__ = ["Authorizer", "Broken", "Http", "HttpAnswer", "HttpWire", "NotSent"]


class NotSent(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """The request did not reach the server, for certain."""


class Broken(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """The connection broke after the request was sent; the server may have executed it."""


class HttpAnswer(Protocol):
    """An answer whose head has arrived. Header names are in lower case."""

    status: int
    headers: Mapping[str, str]
    retry_ms: int | None
    last_event_id: str

    def all(self, name: str) -> Sequence[str]:
        """Every value of a header that may come more than once."""

    async def read(self) -> bytes:
        """The whole body. Raises `Broken`."""

    def events(self) -> AsyncIterator[SseEvent]:
        """The body as a stream of events, until its end. Raises `Broken`."""

    def close(self) -> None:
        """Give the rest of the body up. Idempotent."""


class Http(Protocol):
    """Connections to one server."""

    async def request(
        self, method: str, headers: Mapping[str, str], body: bytes = b""
    ) -> HttpAnswer:
        """Send one request and wait for the head of its answer. Raises `NotSent` or `Broken`."""

    async def close(self) -> None:
        """Close all connections."""


class Authorizer(Protocol):
    """Who knows the token of an upstream; see `authorize`."""

    async def authorization(self) -> str | None:
        """The value of `Authorization` for the next request, or None for none."""

    async def challenged(
        self, turn: int, status: int, challenges: Sequence[str], used: str | None
    ) -> bool:
        """Whether a refused request is to be sent again. Raises `UpstreamFailed`."""


class HttpWire:
    """`headers` are the operator's own; `session` and `revision` are set once they are known."""

    def __init__(
        self, http: Http, headers: Mapping[str, str], authorizer: Authorizer | None = None
    ) -> None:
        self.session: str | None = None
        self.revision: str | None = None
        """What `MCP-Protocol-Version` says after a handshake that has the header."""
        self._http = http
        self._own = dict(headers)
        self._authorizer = authorizer

    async def post(self, body: bytes, headers: Mapping[str, str] | None = None) -> HttpAnswer:
        """Send one message. Raises `NotSent`, `Broken` or `UpstreamFailed` (no authorization)."""
        return await self._send("POST", {**ACCEPT, **(headers or {})}, body)

    async def get(self, last_event_id: str = "") -> HttpAnswer:
        """Ask for a stream: the one for unsolicited messages, or one that broke off."""
        headers = {"Accept": "text/event-stream"}
        if last_event_id:
            headers[LAST_EVENT] = last_event_id
        return await self._send("GET", headers)

    async def goodbye(self) -> None:
        """End the session, where there is one."""
        if self.session is not None:
            (await self._send("DELETE", {})).close()
            self.session = None

    async def close(self) -> None:
        """Close all connections."""
        await self._http.close()

    async def _send(self, method: str, headers: Mapping[str, str], body: bytes = b"") -> HttpAnswer:
        whole = {**self._own, **headers}
        if self.session is not None:
            whole[SESSION] = self.session
        if self.revision is not None:
            whole.setdefault(VERSION, self.revision)
        if self._authorizer is None:
            return await self._http.request(method, whole, body)
        return await self._authorized(self._authorizer, method, whole, body)

    async def _authorized(
        self, authorizer: Authorizer, method: str, headers: dict[str, str], body: bytes
    ) -> HttpAnswer:
        turn = 0
        while True:
            used = await authorizer.authorization()
            carried = headers if used is None else {**headers, "Authorization": used}
            answer = await self._http.request(method, carried, body)
            if answer.status not in (401, 403):
                return answer
            challenges = answer.all("www-authenticate")
            if not await authorizer.challenged(turn, answer.status, challenges, used):
                return answer
            answer.close()
            turn += 1

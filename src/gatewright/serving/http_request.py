"""One HTTP request as the MCP doors see it: who asks, with which headers, and how to say no."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, NamedTuple

from gatewright.call import Caller
from gatewright.serving.exchange import Exchange
from gatewright.serving.front import Front, Refused
from gatewright.serving.http_reply import Send, Whole, send_json
from gatewright.serving.parked import Parked
from gatewright.serving.peer import Peer
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge, ClientGone, read_body
from gatewright.wire import jsonrpc
from gatewright.wire.versions import MODERN

__all__ = ["Connection", "HttpRequest", "Receive", "nowhere"]

Receive = Callable[[], Awaitable[dict[str, Any]]]

_ROUTING = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")


@lru_cache(maxsize=128)
def _is_json(kind: bytes | None) -> bool:
    """Whether a body of this content type is JSON; who says nothing sends it."""
    return kind is None or kind.partition(b";")[0].strip().lower() == b"application/json"


@lru_cache(maxsize=128)
def _reads(accept: bytes | None) -> tuple[bool, bool]:
    """Whether a client with this `Accept` reads JSON, and whether event streams."""
    if accept is None:
        return True, False
    said = accept.lower()
    every = b"*/*" in said
    return (
        every or b"application/json" in said or b"application/*" in said,
        every or b"text/event-stream" in said or b"text/*" in said,
    )


class Connection(NamedTuple):
    """What ASGI calls an application with, and what our own server offers besides."""

    scope: dict[str, Any]
    receive: Receive
    send: Send
    whole: Whole | None = None


class HttpRequest:
    """A request whose caller, origin and host were found good."""

    __slots__ = (
        "_refused",
        "caller",
        "credential",
        "headers",
        "profile",
        "receive",
        "scope",
        "send",
        "whole",
    )

    def __init__(
        self,
        connection: Connection,
        *,
        headers: dict[bytes, bytes],
        caller: Caller,
        credential: str | None,
        profile: str,
        refused: Refused,
    ) -> None:
        """`headers` are those of the scope as a dict, where the last of several stands."""
        self.scope, self.receive, self.send, self.whole = connection
        self.headers = headers
        self.caller = caller
        self.credential = credential
        self.profile = profile
        self._refused = refused

    def header(self, name: bytes) -> str:
        """A header's value, empty where it is missing. `name` is in lower case."""
        return self.headers.get(name, b"").decode("latin-1")

    def text_headers(self) -> dict[str, str]:
        """MCP's own headers as text."""
        return {
            name.decode("latin-1"): value.decode("latin-1")
            for name, value in self.headers.items()
            if name[:4] == b"mcp-"
        }

    @property
    def reads_streams(self) -> bool:
        """Whether the answer may be an event stream; who says nothing reads JSON only."""
        return _reads(self.headers.get(b"accept"))[1]

    def duplicated(self) -> str | None:
        """The routing header that stands twice: who reads the first and who reads the last disagree."""
        raw = self.scope["headers"]
        if len(raw) == len(self.headers):
            return None
        names = [name for name, _ in raw]
        for name in sorted(set(names)):
            if names.count(name) > 1 and (name in _ROUTING or name.startswith(b"mcp-param-")):
                return f"{name.decode('latin-1')} appears more than once"
        return None

    @property
    def acceptable(self) -> bool:
        """Whether its headers are those of a JSON message that reads JSON or streams."""
        return self._unacceptable() is None

    async def body(self, limit: int) -> bytes | None:
        """The body; None where the request was refused or its client left."""
        flaw = self._unacceptable()
        if flaw is None:
            whole = self.whole.take_whole() if self.whole is not None else None
            if whole is not None and len(whole) <= limit:
                return whole
            try:
                if whole is not None:
                    raise BodyTooLarge
                return await read_body(self.receive, limit)
            except BodyTooLarge:
                flaw = 413, f"a message has at most {limit} bytes"
            except BodyTimeout:
                flaw = 408, "the body did not arrive in time"
            except ClientGone:
                return None
        await self.refuse(*flaw)
        return None

    def _unacceptable(self) -> tuple[int, str] | None:
        if not _is_json(self.headers.get(b"content-type")):
            return 415, "a message is sent as application/json"
        if not any(_reads(self.headers.get(b"accept"))):
            return 406, "accept application/json and text/event-stream"
        return None

    async def refuse(
        self,
        status: int,
        message: str,
        code: int = jsonrpc.INVALID_REQUEST,
        *,
        ident: bytes = b"null",
        data: Any = None,
    ) -> None:
        """Answer with an error. Where the request has no id that could be read, neither has the error
        in the modern revision, whose schema knows no null there."""
        self._refused(self.caller, "http", code, message)
        error = {"code": code, "message": message} | ({} if data is None else {"data": data})
        body = jsonrpc.error(ident, jsonrpc.encode(error))
        if ident == b"null" and self.header(b"mcp-protocol-version") in MODERN:
            body = jsonrpc.encode({"jsonrpc": "2.0", "error": error})
        await send_json(self.send, body, status)

    def peer(self, front: Front, parked: Parked[Exchange]) -> Peer:
        """A peer for this request alone."""
        return Peer(
            front,
            parked,
            self.caller,
            door="http",
            credential=self.credential,
            profile=self.profile,
            session=None,
            send=nowhere,
        )

    async def gone(self) -> None:
        """Wait until the client closes the connection."""
        while (await self.receive()).get("type") != "http.disconnect":
            pass


def nowhere(message: bytes) -> None:
    """A request that stands alone has no channel besides its own answer."""

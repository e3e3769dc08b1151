"""`LegacySse`: HTTP+SSE transport of MCP 2024-11-05: holds `/sse` streams; POSTs to `/messages` go to a stream of the same caller.

The stream's first event names that path. The id in it is random and bound to the caller, and stays no
proof of identity: each POST authenticates anew. Only the default profile has these paths.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.http_reply import StreamWriter, one_line, send_plain
from gatewright.mcp.server.http_request import HttpRequest
from gatewright.mcp.server.long_lived import lasting
from gatewright.mcp.server.server_context import ServerContext
from gatewright.transport.base import Closed
from gatewright.web import sse

__all__ = ["LegacySse"]

_PATH = "/messages"
_FIELDS = 32
_UNKNOWN = "unknown session; open GET /sse first"


class LegacySse:
    """The endpoints `/sse` and `/messages`."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._hosts: dict[str, tuple[Duplex, _StreamPipe]] = {}

    async def open(self, http: HttpRequest) -> None:
        """GET /sse: serve one host until it leaves."""
        if http.scope["method"] != "GET":
            await send_plain(http.send, 405, headers=((b"allow", b"GET"),))
            return
        ident = self._front.random(32).hex()
        host = Duplex(
            self._front,
            http.caller,
            door="sse",
            credential=http.credential,
            profile=http.profile,
        )
        writer = StreamWriter(http.send, self._front.queue_bytes)
        pipe = _StreamPipe(writer)
        host.attach(pipe)
        self._hosts[ident] = host, pipe
        pipe.writer.put(sse.encode(f"{_PATH}?session_id={ident}".encode(), event="endpoint"))
        waits = {asyncio.create_task(http.gone()), asyncio.create_task(pipe.writer.closed())}
        try:
            with lasting(
                self._front, lambda: host.presented, lambda _: pipe.close(), lambda: host.busy
            ):
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hosts.pop(ident, None)
            pipe.close()
            host.closed("the host closed its stream")
            for one in waits:
                one.cancel()

    async def post(self, http: HttpRequest) -> None:
        """POST /messages: one message of a host; answers travel on its stream."""
        if http.scope["method"] != "POST":
            await send_plain(http.send, 405, headers=((b"allow", b"POST"),))
            return
        host = self._find(http)
        if host is None:
            await http.refuse(404, _UNKNOWN)
            return
        body = await http.body(self._front.frame_bytes)
        if body is None:
            return
        # A body may take its time, and its stream may have ended since.
        if self._find(http) is not host:
            await http.refuse(404, _UNKNOWN)
            return
        host.peer.credential = http.credential  # its key may have been replaced meanwhile
        host.message(body)  # answered with 202 at once; what it comes to travels on the stream
        await send_plain(http.send, 202)

    def _find(self, http: HttpRequest) -> Duplex | None:
        """The host whose open stream a POST names, where it is the caller's own."""
        host, _ = self._hosts.get(_session_of(http.scope["query_string"]), (None, None))
        return host if host is not None and _is_of(host.peer, http) else None

    def farewell(self) -> None:
        """Close the streams of hosts for whom nothing runs."""
        for host, pipe in list(self._hosts.values()):
            if not host.peer.busy:
                pipe.close()

    async def close(self) -> None:
        """Close every stream."""
        for _, pipe in list(self._hosts.values()):
            pipe.close()


def _session_of(query: bytes) -> str:
    try:
        said = parse_qs(query.decode("latin-1"), max_num_fields=_FIELDS)
    except ValueError:
        return ""
    return said.get("session_id", [""])[0]


def _is_of(peer: ClientSession, http: HttpRequest) -> bool:
    """Whether a stream is of who posts, at a path of the same profile."""
    one, other = peer.caller, http.caller
    return (one.kind, one.id, peer.profile) == (other.kind, other.id, http.profile)


class _StreamPipe:
    """The way back to one host."""

    def __init__(self, writer: StreamWriter) -> None:
        self.writer = writer

    @property
    def waiting(self) -> int:
        return self.writer.waiting

    def send(self, message: bytes) -> None:
        if self.writer.ended:
            raise Closed("the stream is closed")
        self.writer.put(sse.encode(one_line(message), event="message"))

    def close(self) -> None:
        self.writer.end()

    async def wait_closed(self) -> str:
        await self.writer.closed()
        return "the stream is closed"

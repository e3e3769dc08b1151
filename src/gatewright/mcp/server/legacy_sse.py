"""`LegacySse`: HTTP+SSE transport of MCP 2024-11-05: holds `/sse` streams; POSTs to `/messages` go to a stream of the same caller.

The stream's first event names that path. The id in it is random and bound to the caller, and stays no
proof of identity: each POST authenticates anew. What a POST comes to is heard by who opened the stream, so it is taken from the same
credential or from one with equal limits alone (`shown_rights`). Only the default profile has these paths.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from gatewright.call import Refusal
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.http_reply import StreamWriter, one_line
from gatewright.mcp.server.http_request import HttpRequest
from gatewright.mcp.server.http_responses import send_plain
from gatewright.mcp.server.long_lived import lasting
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.server.shown_rights import at_least, same_rights
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
        self._hosts: dict[str, _Stream] = {}

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
        self._hosts[ident] = stream = _Stream(self._front, host, pipe)
        pipe.writer.put(sse.encode(f"{_PATH}?session_id={ident}".encode(), event="endpoint"))
        waits = {asyncio.create_task(http.gone()), asyncio.create_task(pipe.writer.closed())}
        try:
            with lasting(self._front, stream.carrier, lambda _: pipe.close(), lambda: host.busy):
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
        stream = self._find(http)
        if stream is None:
            await http.refuse(404, _UNKNOWN)
            return
        body = await http.body(self._front.frame_bytes)
        if body is None:
            return
        # A body may take its time, and its stream may have ended since.
        if self._find(http) is not stream:
            await http.refuse(404, _UNKNOWN)
            return
        # Its key may have been replaced meanwhile.
        stream.host.peer.shown = _shown(http)
        stream.host.message(
            body
        )  # answered with 202 at once; what it comes to travels on the stream
        await send_plain(http.send, 202)

    def _find(self, http: HttpRequest) -> _Stream | None:
        """The open stream that a POST names, where it is the caller's own, with the limits that it shows now, and at a path of the same
        profile."""
        found = self._hosts.get(_session_of(http.scope["query_string"]))
        if found is None or found.host.peer.profile != http.profile:
            return None
        if same_rights(found.opened, _shown(http)):
            return found
        if at_least(_shown(http), found.opened) and not found.host.peer.busy:
            found.pipe.close()  # for whoever has gained scopes: its client opens another where this one ends
        return None

    def farewell(self) -> None:
        """Close the streams of hosts for whom nothing runs."""
        for one in list(self._hosts.values()):
            if not one.host.peer.busy:
                one.pipe.close()

    async def close(self) -> None:
        """Close every stream."""
        for one in list(self._hosts.values()):
            one.pipe.close()


def _session_of(query: bytes) -> str:
    try:
        said = parse_qs(query.decode("latin-1"), max_num_fields=_FIELDS)
    except ValueError:
        return ""
    return said.get("session_id", [""])[0]


def _shown(http: HttpRequest) -> Presented:
    return Presented("sse", http.caller, http.credential)


class _Stream:
    """One open stream, and who hears it."""

    def __init__(self, front: ServerContext, host: Duplex, pipe: _StreamPipe) -> None:
        self.host, self.pipe = host, pipe
        self.opened = host.presented
        self._front = front
        host.peer.carrier = self.carrier

    def carrier(self) -> Presented:
        """Who hears it, and with what: the credential with which it was opened, also where others post. Once that has come to its end, what was
        posted with last: a refreshed token, or the successor of a key. One that was taken back is replaced by none."""
        opened, shown = self.opened, self.host.presented
        if opened != shown and (opened.credential == shown.credential or self._is_over(opened)):
            self.opened = shown
        return self.opened

    def _is_over(self, opened: Presented) -> bool:
        still = self._front.still(*opened)
        return isinstance(still, Refusal) and still.reason == "auth_expired"


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

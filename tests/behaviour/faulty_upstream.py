"""A tool server over HTTP, and a proxy in front of it that does to what passes what networks do.

`faulty()` runs both on a loop of their own. Each test says which `Fault` is in force; the server counts the calls that reached it.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import json
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

__all__ = ["Faulty", "faulty"]

Fault = Literal["", "latency", "bytes", "refused", "reset", "half-open", "truncated", "failing"]
"""`refused` and `reset` end a connection with an RST, before a request was handed on and instead of its answer; `half-open` says
nothing more and hangs up nowhere; `truncated` ends in the middle of the answer; `bytes` hands it on one byte at a time; `failing` answers with status 500 itself."""

_TOOLS = [
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "act", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
]
_LATENCY_S = 0.2
_FAILING = b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
_PIECE = 65536
_HUNG_UP = contextlib.suppress(OSError, asyncio.IncompleteReadError)


def _answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        info = {"name": "faulty", "version": "1"}
        about = {"capabilities": {"tools": {}}, "serverInfo": info}
        return {"protocolVersion": "2025-06-18", **about}
    if method == "tools/list":
        return {"tools": _TOOLS}
    if method == "tools/call":
        return {"content": [{"type": "text", "text": f"{params['name']}: done"}]}
    return {}


class Faulty:
    """Where the proxy is, what it does, and what came through it."""

    def __init__(self) -> None:
        self.url = ""
        self.fault: Fault = ""
        self.times = 0
        """So often the fault strikes; then all is well again."""
        self.calls: collections.Counter[str] = collections.Counter()
        self._server = 0

    def strike(self, fault: Fault, times: int = 1 << 30) -> None:
        """Have calls suffer this from now on, and count them anew."""
        self.calls.clear()
        self.fault, self.times = fault, times

    async def start(self) -> None:
        """Begin to listen."""
        self._never = asyncio.Event()
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self._server = server.sockets[0].getsockname()[1]
        proxy = await asyncio.start_server(self._pass, "127.0.0.1", 0)
        self.listeners = server, proxy
        self.url = f"http://127.0.0.1:{proxy.sockets[0].getsockname()[1]}/mcp"

    # -- the server ----------------------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.closing(writer), _HUNG_UP:
            while True:
                head, body = await _request(reader)
                writer.write(self._reply(head, body))
                await writer.drain()

    def _reply(self, head: bytes, body: bytes) -> bytes:
        if not head.startswith(b"POST"):
            return b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"
        message = json.loads(body)
        if "id" not in message:
            return b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
        params = message.get("params") or {}
        if message["method"] == "tools/call":
            self.calls[params["name"]] += 1
        reply = {
            "jsonrpc": "2.0",
            "id": message["id"],
            "result": _answer(message["method"], params),
        }
        text = json.dumps(reply).encode()
        about = f"Content-Type: application/json\r\nContent-Length: {len(text)}"
        return f"HTTP/1.1 200 OK\r\n{about}\r\n\r\n".encode() + text

    # -- the proxy -----------------------------------------------------------------------------------

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, to_server = await asyncio.open_connection("127.0.0.1", self._server)
        with contextlib.closing(writer), contextlib.closing(to_server), _HUNG_UP:
            while True:
                head, body = await _request(reader)
                # The hello, pings and lists pass: what is looked at is a call.
                fault = self._strikes() if b'"tools/call"' in body else ""
                if fault == "refused":
                    _reset(writer)
                    break
                if fault == "failing":
                    writer.write(_FAILING)
                    await writer.drain()
                    continue
                if fault == "latency":
                    await asyncio.sleep(_LATENCY_S)
                to_server.write(head + body)
                head, body = await _request(there)
                if not await self._hand_back(head + body, writer, fault):
                    break

    async def _hand_back(self, answer: bytes, writer: asyncio.StreamWriter, fault: Fault) -> bool:
        """Whether the connection goes on."""
        if fault == "reset":
            _reset(writer)
            return False
        if fault == "truncated":
            writer.write(answer[:-5])
            return False
        if fault == "half-open":
            await self._never.wait()
        if fault == "latency":
            await asyncio.sleep(_LATENCY_S)
        size = 1 if fault == "bytes" else _PIECE
        for at in range(0, len(answer), size):
            writer.write(answer[at : at + size])
            await writer.drain()
            await asyncio.sleep(0)
        return True

    def _strikes(self) -> Fault:
        self.times -= 1
        return self.fault if self.times >= 0 else ""


async def _request(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Head and body of a message, either way."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").lower().split("\r\n")
    length = next((one for one in lines if one.startswith("content-length:")), ":0")
    return head, await reader.readexactly(int(length.partition(":")[2]))


def _reset(writer: asyncio.StreamWriter) -> None:
    line = writer.get_extra_info("socket")
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextmanager
def faulty() -> Iterator[Faulty]:
    """Both, on a loop of their own: to start a gateway holds up that of a test."""
    found, up = Faulty(), threading.Event()
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(found.start())
        up.set()
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        for one in found.listeners:
            one.close()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert up.wait(20)
        yield found
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(20)

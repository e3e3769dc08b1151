"""Counts Python opcodes and frames that one governed call costs the gateway's thread, by function: a figure that a busy machine cannot blur.

The gateway runs in this process, and 8 clients in threads of their own call an echo tool on a stdio server, each with other ids,
arguments and lengths. Only the thread of the gateway is traced (`sys.settrace`). What C does (JSON, RE2, SHA-256, the event loop, system calls)
is not counted, so two ways are compared by this where they leave the same to C.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import tempfile
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.gateway import Upstream, config
from gatewright.app.announce import Ready
from gatewright.app.gateway import Gateway
from gatewright.config import load, override
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_VERSION,
    request_headers,
)
from gatewright.mcp.wire.versions import is_modern

__all__ = ["Counted", "counted"]

CLIENTS, WARM, CALLS = 8, 60, 50
TOOL = "echo__echo"
_OURS = f"{Path('src') / 'gatewright'}"


class Counted:
    """Opcodes and frames, by code object."""

    def __init__(self) -> None:
        self.opcodes: Counter[CodeType] = Counter()
        self.frames: Counter[CodeType] = Counter()

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """`sys.settrace`'s."""
        if event == "call":
            self.frames[frame.f_code] += 1
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            self.opcodes[frame.f_code] += 1
        return self.trace

    def a_call(self, calls: int) -> tuple[float, float]:
        """Opcodes and frames of ours for each of so many calls."""
        ours = [code for code in self.frames if _OURS in code.co_filename]
        return (
            sum(self.opcodes[one] for one in ours) / calls,
            sum(self.frames[one] for one in ours) / calls,
        )


class _Client:
    """One connection, with a session where the revision has them."""

    def __init__(self, port: int, number: int, revision: str) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._file = self._socket.makefile("rb")
        self._port, self._number = port, number
        self._head = ""
        self._meta: dict[str, Any] = {}
        if is_modern(revision):
            info = {"name": "opcodes", "version": "1"}
            said = {META_VERSION: revision, META_CLIENT_INFO: info, META_CLIENT_CAPABILITIES: {}}
            self._meta = {"_meta": said}
            named = request_headers("tools/call", {"name": TOOL}, {}, revision)
            self._head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
            return
        hello = {
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "opcodes", "version": "1"},
        }
        session = self._said(1, "initialize", hello)[0]["mcp-session-id"]
        self._head = f"MCP-Session-Id: {session}\r\nMCP-Protocol-Version: {revision}\r\n"
        self._said(None, "notifications/initialized", None)

    def call(self, number: int) -> None:
        """One call, whose answer has to be an echo. Raises `RuntimeError`."""
        text = f"hello {self._number} {number} " + "x" * (number % 7)
        params = {"name": TOOL, "arguments": {"text": text}, **self._meta}
        body = self._said(100 + number, "tools/call", params)[1]
        if text.encode() not in body or b"isError" in body:
            raise RuntimeError(body.decode())

    def close(self) -> None:
        """Leave."""
        self._file.close()
        self._socket.close()

    def _said(self, ident: int | None, method: str, params: Any) -> tuple[dict[str, str], bytes]:
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
        body = json.dumps({key: one for key, one in message.items() if one is not None}).encode()
        head = (
            f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\nContent-Type: application/json\r\n"
            f"Accept: application/json, text/event-stream\r\n{self._head}Content-Length: {len(body)}\r\n\r\n"
        )
        self._socket.sendall(head.encode() + body)
        self._file.readline()
        headers = {}
        while (line := self._file.readline().strip()) != b"":
            name, _, value = line.decode().partition(":")
            headers[name.lower()] = value.strip()
        return headers, self._body(headers)

    def _body(self, headers: dict[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self._file.read(int(headers.get("content-length", 0)))
        whole = b""
        while size := int(self._file.readline(), 16):
            whole += self._file.read(size + 2)[:-2]
        self._file.readline()
        return whole


async def counted(folder: Path, revision: str = "2025-06-18", more: str = "") -> Counted:
    """What `CLIENTS` times `CALLS` calls cost, after each client has made `WARM`. `more` is added to the configuration."""
    path = folder / "mgp.toml"
    text = config([Upstream.echo("echo", "--era", "legacy")], folder / "data")
    path.write_text(text + more, encoding="utf-8")
    loop, found = asyncio.get_running_loop(), Counted()
    port: asyncio.Future[int] = loop.create_future()

    def ready(said: Ready) -> None:
        port.set_result(int(said.url.split("/")[2].rpartition(":")[2]))

    async with Gateway(override(load(path), port=0)) as gateway:
        serving = asyncio.create_task(gateway.serve_http(ready))
        try:
            await gateway.supervisor.settled()
            await asyncio.to_thread(_measured, await port, revision, loop, found)
        finally:
            serving.cancel()
            await asyncio.wait([serving])
    return found


def _measured(port: int, revision: str, loop: asyncio.AbstractEventLoop, found: Counted) -> None:
    both = threading.Barrier(CLIENTS + 1)
    with ThreadPoolExecutor(CLIENTS) as threads:
        clients = [
            threads.submit(_client, port, number, revision, both) for number in range(CLIENTS)
        ]
        with suppress(threading.BrokenBarrierError):
            both.wait()
            _in_loop(loop, found.trace)
            both.wait()
            both.wait()
            _in_loop(loop, None)
        for one in clients:
            one.result()


def _client(port: int, number: int, revision: str, both: threading.Barrier) -> None:
    one = _Client(port, number, revision)
    try:
        for at in range(WARM):
            one.call(at)
        both.wait()
        both.wait()
        for at in range(WARM, WARM + CALLS):
            one.call(at)
        both.wait()
    except BaseException:
        both.abort()
        raise
    finally:
        one.close()


def _in_loop(loop: asyncio.AbstractEventLoop, trace: Any) -> None:
    """Have the gateway's thread traced, or not, from its next turn on."""
    done = threading.Event()

    def begin() -> None:
        sys.settrace(trace)
        done.set()

    loop.call_soon_threadsafe(begin)
    done.wait()


def _told(found: Counted) -> None:
    calls = CLIENTS * CALLS
    opcodes, frames = found.a_call(calls)
    print(f"{opcodes:.0f} opcodes, {frames:.1f} frames of ours a call")
    for code, count in found.opcodes.most_common(60):
        where = code.co_filename.rpartition("gatewright/")[2] or code.co_filename
        print(f"{count / calls:8.1f} {found.frames[code] / calls:7.2f}  {where}:{code.co_qualname}")


def _main() -> None:
    import uvloop  # noqa: PLC0415 - not there on every platform

    revision = sys.argv[1] if sys.argv[1:] else "2025-06-18"
    with tempfile.TemporaryDirectory() as folder:
        _told(uvloop.run(counted(Path(folder), revision)))


if __name__ == "__main__":
    _main()

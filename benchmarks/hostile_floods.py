"""Floods, one for each way into a gateway: what a stranger or a careless client sends so that others have to wait.

Each is a function of the gateway's address and of seconds; it sends until those are over, at most `MOST_BYTES`, or until the gateway hangs up,
and returns the bytes that it sent. All is inert: small frames, pings, headers, chunks, connections. `FLOODS` has them by
name. No credential is sent unless the address names one (`http://KEY@127.0.0.1:8420`).

    python -m benchmarks.hostile_floods http://127.0.0.1:8420 websocket_fragments 3
"""

from __future__ import annotations

import base64
import contextlib
import os
import select
import socket
import sys
import time
from collections.abc import Callable, Iterator
from itertools import repeat
from urllib.parse import urlsplit

__all__ = [
    "BEGIN",
    "EMPTY",
    "FLOODS",
    "MOST_BYTES",
    "ONE_BYTE",
    "PING",
    "Flood",
    "main",
    "many",
    "pour",
    "text_frame",
    "upgrade",
]

Flood = Callable[[str, float], int]

MOST_BYTES = 16 * 1024 * 1024
CONNECTIONS = 200
_PIECE = 256 * 1024
ONE_BYTE = b"\x00\x81\x00\x00\x00\x00x"
EMPTY = b"\x00\x80\x00\x00\x00\x00"
BEGIN = b"\x01\x81\x00\x00\x00\x00x"
PING = b"\x89\x80\x00\x00\x00\x00"
_PONG = b"\x8a\x80\x00\x00\x00\x00"


def text_frame(message: bytes) -> bytes:
    """One whole text frame of a client, whose mask is zero."""
    size = len(message)
    if size < 126:
        head = bytes([0x81, 0x80 | size])
    elif size < 65536:
        head = b"\x81\xfe" + size.to_bytes(2, "big")
    else:
        head = b"\x81\xff" + size.to_bytes(8, "big")
    return head + bytes(4) + message


def _open(address: str) -> tuple[socket.socket, str, str]:
    """A connection, the value of Host, and the header that carries the credential."""
    parts = urlsplit(address)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    key = f"Authorization: Bearer {parts.username}\r\n" if parts.username else ""
    return socket.create_connection((host, port), timeout=5), f"{host}:{port}", key


def upgrade(host: str, key: str, path: str, subprotocol: str) -> bytes:
    """The head that asks for a WebSocket; `key` is a whole header line, or empty."""
    nonce = base64.b64encode(os.urandom(16)).decode()
    offered = f"Sec-WebSocket-Protocol: {subprotocol}\r\n" if subprotocol else ""
    return (
        f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {nonce}\r\n{offered}{key}\r\n"
    ).encode()


def pour(sock: socket.socket, pieces: Iterator[bytes], until: float, *, read: bool = True) -> int:
    """Send piece after piece, and throw away what comes back where `read` says so."""
    sent, held = 0, b""
    sock.setblocking(False)
    with contextlib.suppress(OSError), sock:
        while sent < MOST_BYTES and (left := until - time.monotonic()) > 0:
            held = held or next(pieces, b"")
            if not held:
                break
            readable, writable, _ = select.select([sock] if read else [], [sock], [], left)
            if readable and not sock.recv(_PIECE):
                break
            if writable:
                taken = sock.send(held)
                sent, held = sent + taken, held[taken:]
        with contextlib.suppress(ValueError):
            select.select([sock] if read else [], [], [], max(0.0, until - time.monotonic()))
    return sent


def many(piece: bytes) -> Iterator[bytes]:
    """A piece over and over, in larger ones."""
    return repeat(piece * max(1, _PIECE // len(piece)))


def _websocket(piece: bytes, *, first: bytes = b"", wait: bool = True) -> Callable[..., Flood]:
    """Floods of one kind of frame, at each door that takes an Upgrade. Without `wait` they come right behind the
    head, before anybody was asked who they are."""

    def at(path: str, subprotocol: str = "") -> Flood:
        def flood(address: str, seconds: float) -> int:
            until = time.monotonic() + seconds
            sock, host, key = _open(address)
            sock.sendall(upgrade(host, key, path, subprotocol))
            if wait and not sock.recv(4096).startswith(b"HTTP/1.1 101"):
                sock.close()
                return 0
            sock.sendall(first)
            return pour(sock, many(piece), until)

        return flood

    return at


def _http(first: Callable[[str, str], bytes], piece: bytes, *, read: bool = True) -> Flood:
    def flood(address: str, seconds: float) -> int:
        until = time.monotonic() + seconds
        sock, host, key = _open(address)
        sock.sendall(first(host, key))
        own = piece.replace(b"HOST", host.encode()).replace(b"KEY\r\n", key.encode())
        return pour(sock, many(own), until, read=read)

    return flood


def _post(host: str, key: str, more: str = "", path: str = "/mcp") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{key}Content-Type: application/json\r\n"
        f"Accept: application/json, text/event-stream\r\n{more}"
    ).encode()


def _chunked(host: str, key: str) -> bytes:
    return _post(host, key, "Transfer-Encoding: chunked\r\n\r\n")


def _connects(piece: bytes, most: int = CONNECTIONS) -> Flood:
    """Connection after connection, each with a little and then silent; `most` are kept open."""

    def flood(address: str, seconds: float) -> int:
        until, held, sent = time.monotonic() + seconds, [], 0
        with contextlib.ExitStack() as stack:
            while time.monotonic() < until:
                with contextlib.suppress(OSError):
                    sock, _, _ = _open(address)
                    held.append(stack.enter_context(sock))
                    sock.send(piece)
                    sent += len(piece)
                if len(held) >= most:
                    held.pop(0).close()
        return sent

    return flood


def _twice() -> bytes:
    """A request with thousands of headers, one of which stands twice."""
    body = (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",'
        b'"io.modelcontextprotocol/clientCapabilities":{}}}}'
    )
    names = b"".join(b"%x:\r\n" % one for one in range(0x1000, 0x1000 + 4000))
    head = (
        b"POST /mcp HTTP/1.1\r\nHost: HOST\r\nKEY\r\nContent-Type: application/json\r\nAccept: */*\r\nAccept: */*\r\n"
        b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\nContent-Length: %d\r\n"
        % len(body)
    )
    return head + names + b"\r\n" + body


_GET = b"GET /health HTTP/1.1\r\nHost: HOST\r\nKEY\r\n\r\n"
_PINGED = text_frame(b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
_SAID = text_frame(
    b'{"protocol":"mcp-x/v0","id":"00000000-0000-4000-8000-000000000001","ts":"2026-01-01T00:00:00Z","from":"x",'
    b'"kind":"chat","payload":{"text":"x"}}'
)
_DOORS = {
    "mcp": ("/mcp", "mcp"),
    "groundhog": ("/mcp", ""),
    "rooms": ("/ws?topic=flood", "mcpx"),
    "ggen": ("/rpc", ""),
}
_KINDS = {
    "early_fragments": _websocket(ONE_BYTE, first=BEGIN, wait=False),
    "fragments": _websocket(ONE_BYTE, first=BEGIN),
    "empty_fragments": _websocket(EMPTY, first=BEGIN),
    "pings": _websocket(PING),
    "pongs": _websocket(_PONG),
    "messages": _websocket(_PINGED),
    "said": _websocket(_SAID),
    "junk": _websocket(text_frame(b"x")),
}

FLOODS: dict[str, Flood] = {
    **{
        f"{door}_{kind}": make(*place)
        for door, place in _DOORS.items()
        for kind, make in _KINDS.items()
    },
    "http_pipelined": _http(lambda host, key: b"", _GET),
    "http_unread": _http(lambda host, key: b"", _GET, read=False),
    "http_one_byte_chunks": _http(_chunked, b"1\r\n \r\n"),
    "http_header_lines": _http(lambda host, key: b"GET / HTTP/1.1\r\n", b"a: b\r\n"),
    "http_headers_twice": _http(lambda host, key: b"", _twice()),
    "http_empty_lines": _http(lambda host, key: b"", b"\r\n"),
    "http_junk": _http(lambda host, key: b"", b"x"),
    "connects": _connects(b"G"),
    "connects_and_keeps": _connects(b"G", 10**6),
    "connects_and_asks": _connects(b"POST /mcp HTTP/1.1\r\nHost: x\r\n\r\n"),
}
"""By name; those at doors that are closed end at once."""


def main() -> int:
    """Run one flood for so many seconds."""
    address, name, seconds = sys.argv[1:]
    sys.stdout.write(f"{FLOODS[name](address, float(seconds))}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

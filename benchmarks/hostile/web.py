"""An MCP server over streamable HTTP whose answers are event streams that cost most to read: `sse` answers with a named stream,
of about so many bytes. Inert: all that it says is made up.

    with served() as url: ...
"""

from __future__ import annotations

import gzip
import json
import random
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

__all__ = ["BODIES", "PACKED", "STREAMS", "api_of", "body", "packed", "pieces", "served"]

_REVISION = "2025-11-25"
_PIECE = 64 * 1024
_NOTICE = b'data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"%b"}}\n\n'
_UNITS = {
    "comments": b":\n",
    "long_comment": b": " + b"a" * 4000,
    "blank_lines": b"\n",
    "carriage_returns": b"\r",
    "retries": b"retry: 1\n\n",
    "long_retries": b"retry: " + b"9" * 4000 + b"\n\n",
    "ids": b"id: a\n\n",
    "names": b"event: a\n\n",
    "no_data": b"data\n\n",
    "data_lines": b"data: a\n",
    "empty_data_lines": b"data\n",
    "unknown_fields": b"a: b\n",
    "colons": b"::::\n",
    "one_line": b"a",
    "junk_events": b"data: a\n\n",
    "notices": _NOTICE % b"hello",
    "large_notices": _NOTICE % (b"token: a " * 12_000),
    "huge_notices": _NOTICE % (b"token: a " * 400_000),
    "other_ids": b'data: {"jsonrpc":"2.0","id":987654321,"result":{}}\n\n',
    "questions": b'data: {"jsonrpc":"2.0","id":"q","method":"roots/list","params":{}}\n\n',
    "half_letters": b"data: \xc3\n\n",
}
STREAMS = (*_UNITS, "one_byte_chunks", "huge_event")
"""Kinds of streams. Each ends with the answer, where it is not one of those that a reader gives up."""


_JSON = {
    "texts": b'"",',
    "lines": b"\n",
    "rows": b'{"a":1},',
    "lists": b"[],",
    "escapes": b'"\\u0001",',
}
_BYTES = {"letters": b"token: a ", "unseen": "\u200b".encode(), "no_letters": b"\xff"}
BODIES = (*_JSON, *_BYTES, "image")
"""Kinds of bodies with which an API answers."""


def body(kind: str, size: int) -> tuple[str, bytes]:
    """The media type and a body of about so many bytes."""
    if kind in _JSON:
        unit = _JSON[kind]
        return "application/json", b"[" + unit * (size // len(unit)) + b"1]"
    if kind == "image":
        return "image/png", b"\x00" * size
    return "text/plain", _BYTES[kind] * (size // len(_BYTES[kind]))


PACKED = ("members", "blocks", "zeros", "noise", "bytes")
"""Kinds of answers that were packed although nobody wanted that, and one in chunks of a byte."""


def packed(kind: str, size: int, said: bytes) -> Iterator[bytes]:
    """The answer `said` behind about so many bytes of nothing, packed; in pieces."""
    whole = zlib.compressobj(wbits=31)
    if kind == "bytes":
        yield from (b"%c" % one for one in b" " * (size // 8) + said)
        return
    if kind == "members":
        yield gzip.compress(b"", mtime=0) * (size // 20)
    elif kind == "blocks":
        yield whole.flush(zlib.Z_FULL_FLUSH) + b"\0\0\0\xff\xff" * (size // 5)
    elif kind == "zeros":
        yield whole.compress(b" " * size)
    else:
        noise = random.Random(0).choices(b" \t\r\n", k=size)
        yield whole.compress(bytes(noise))
    yield whole.compress(said) + whole.flush()


def api_of(url: str) -> dict[str, Any]:
    """The OpenAPI document of an API at the same host: an operation that answers with such a body, and one that takes arguments everywhere."""
    query = [{"name": one, "in": "query", "schema": {"type": what}} for one, what in (("kind", "string"), ("size", "integer"))]  # fmt: skip
    answer = {"200": {"description": "a"}}
    operation = {"operationId": "body", "parameters": query, "responses": answer}
    about = {"openapi": "3.1.0", "info": {"title": "a", "version": "1"}}
    return {**about, "servers": [{"url": url.removesuffix("/mcp")}], "paths": {"/body": {"get": operation}, "/taken/{path}": {"put": _taken()}}}  # fmt: skip


def _taken() -> dict[str, Any]:
    places = ("path", "query", "header", "cookie")
    taken = [{"name": one, "in": one, "required": one == "path", "schema": {}} for one in places]
    form = {"content": {"application/x-www-form-urlencoded": {"schema": {"type": "object"}}}}
    answer = {"200": {"description": "a"}}
    return {"operationId": "take", "parameters": taken, "requestBody": form, "responses": answer}


def pieces(kind: str, size: int, last: bytes) -> Iterator[bytes]:
    """A stream of about so many bytes, in the pieces in which it is sent. `last` is the answer."""
    if kind == "one_byte_chunks":
        yield from (b"%c" % one for one in (b": x\n\n" * (min(size, 200_000) // 5) + last))
        return
    if kind == "huge_event":
        yield b"data: "
        yield from [b" " * _PIECE] * (size // _PIECE)
        yield last.removeprefix(b"data: ")
        return
    unit = _UNITS[kind]
    piece = unit * max(1, _PIECE // len(unit))
    yield from [piece] * max(1, size // len(piece))
    yield b"\n\n" + last


def _together(all_: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks of a body, small ones together in one write."""
    held = bytearray()
    for piece in all_:
        held += b"%x\r\n%b\r\n" % (len(piece), piece)
        if len(held) >= _PIECE:
            yield bytes(held)
            held.clear()
    yield bytes(held)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """No stream of its own; a body for the API."""
        where = urlsplit(self.path)
        if where.path != "/body":
            self._say(405, b"")
            return
        asked = parse_qs(where.query)
        media, said = body(asked["kind"][0], int(asked["size"][0]))
        self._say(200, said, media)

    def do_PUT(self) -> None:
        """Whatever an operation takes."""
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self._say(200, b"{}")

    def do_DELETE(self) -> None:
        """Sessions need no end."""
        self._say(200, b"")

    def do_POST(self) -> None:
        """One message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        method, ident = message.get("method"), message.get("id")
        if ident is None or method is None:
            self._say(202, b"")
        elif method == "initialize":
            about = {"serverInfo": {"name": "web", "version": "1"}, "capabilities": {"tools": {}, "logging": {}}}  # fmt: skip
            self._say(200, _answer(ident, {"protocolVersion": _REVISION, **about}))
        elif method == "tools/list":
            names = ("sse", "packed")
            tools = [{"name": one, "inputSchema": {"type": "object"}} for one in names]
            self._say(200, _answer(ident, {"tools": tools}))
        elif method == "tools/call" and message["params"]["name"] == "packed":
            self._packed(ident, message["params"].get("arguments") or {})
        elif method == "tools/call":
            self._stream(ident, message["params"].get("arguments") or {})
        elif method == "server/discover":
            refusal = {"code": -32601, "message": "unknown"}
            self._say(404, json.dumps({"jsonrpc": "2.0", "id": ident, "error": refusal}).encode())
        else:
            self._say(200, _answer(ident, {}))

    def _packed(self, ident: Any, asked: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if asked["kind"] != "bytes":
            self.send_header("Content-Encoding", "gzip")
        said = _answer(ident, {"content": [{"type": "text", "text": "ok"}]})
        self._chunks(packed(asked["kind"], asked["size"], said))

    def _stream(self, ident: Any, asked: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        said = _answer(ident, {"content": [{"type": "text", "text": "ok"}]})
        self._chunks(pieces(asked["kind"], asked["size"], b"data: " + said + b"\n\n"))

    def _chunks(self, all_: Iterator[bytes]) -> None:
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        with suppress(OSError):  # the gateway gave it up
            for some in _together(all_):
                self.wfile.write(some)
            self.wfile.write(b"0\r\n\r\n")
            return
        self.close_connection = True

    def _say(self, status: int, said: bytes, media: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def log_message(self, *_: object) -> None:
        """Nobody reads it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A gateway that has had enough closes the connection, which is no news."""


def _answer(ident: Any, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "result": result}).encode()


@contextmanager
def served() -> Iterator[str]:
    """The URL of a running server."""
    server = _Server(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

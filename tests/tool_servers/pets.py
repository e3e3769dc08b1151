"""An HTTP API that is no MCP server, on a thread of the test: pets to read, make and take away.

    with pets() as api: api.url, api.seen

`api.seen` is every request as it came. Paths that end in other ways: `/redirect`, `/slow`, `/huge`,
`/packed`, `/text`, `/picture`, `/broken`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

__all__ = ["DOCUMENT", "Api", "Seen", "pets"]

_ID = {"name": "petId", "in": "path", "required": True, "schema": {"type": "integer"}}
_PET = {"$ref": "#/components/schemas/Pet"}


def _plain(name: str) -> dict[str, Any]:
    return {"get": {"operationId": name, "security": []}}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1.2", "description": "All about pets"},
    "servers": [{"url": "/v1"}],
    "security": [{"key": []}],
    "components": {
        "securitySchemes": {"key": {"type": "apiKey", "in": "header", "name": "X-Key"}},
        "schemas": {
            "Pet": {
                "type": "object",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "minLength": 1},
                    "kind": {"type": "string", "nullable": True},
                    "parent": _PET,
                },
            }
        },
    },
    "paths": {
        "/pets": {
            "get": {
                "operationId": "listPets",
                "summary": "All pets",
                "parameters": [
                    {"name": "tag", "in": "query", "schema": {"type": "array", "items": {}}}
                ],
            },
            "post": {
                "operationId": "addPet",
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": _PET}},
                },
            },
        },
        "/pets/{petId}": {
            "parameters": [_ID],
            "get": {"operationId": "getPet"},
            "delete": {"operationId": "removePet"},
        },
        **{
            f"/{name}": _plain(name)
            for name in ("redirect", "slow", "huge", "packed", "text", "picture", "broken")
        },
        "/elsewhere": {"get": {"parameters": [{"$ref": "other.yaml#/p"}]}},
    },
}


class Seen(NamedTuple):
    """One request."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Api:
    """The API that runs. `release` ends `/slow`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.seen: list[Seen] = []
        self.release = threading.Event()
        self.document: bytes = json.dumps(DOCUMENT).encode()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    api: Api

    def _serve(self) -> None:
        length = int(self.headers.get("content-length", "0"))
        body = self.rfile.read(length)
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.api.seen.append(Seen(self.command, self.path, headers, body))
        path = self.path.partition("?")[0].removeprefix("/v1")
        if path == "/api.json":
            self._answer(200, self.api.document)
        elif path == "/slow":
            self.api.release.wait(20)
            self._answer(200, b"{}")
        elif path in _ODD:
            status, kind, said, more = _ODD[path]
            self._answer(status, said, kind, **more)
        else:
            self._pets(path, body)

    def _pets(self, path: str, body: bytes) -> None:
        if path == "/pets" and self.command == "POST":
            self._answer(201, json.dumps({"id": 7, **json.loads(body)}).encode())
        elif path == "/pets":
            self._answer(200, b'[{"id": 1, "weight": 1.10}]')
        elif path == "/pets/1" and self.command == "DELETE":
            self._answer(204, b"")
        elif path == "/pets/1":
            self._answer(200, b'{"id": 1, "name": "Tom", "weight": 1.10}')
        else:
            self._answer(404, b'{"error": "no such pet"}')

    def _answer(
        self, status: int, body: bytes, kind: str = "application/json", **more: str
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        for name, value in more.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_DELETE = _serve  # noqa: N815 - the base class's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Say nothing."""


_ODD: dict[str, tuple[int, str, bytes, dict[str, str]]] = {
    "/redirect": (302, "text/plain", b"", {"location": "http://169.254.169.254/"}),
    "/huge": (200, "text/plain", b"x" * 300_000, {}),
    "/packed": (200, "application/json", b"\x1f\x8b", {"content_encoding": "gzip"}),
    "/text": (200, "text/plain", b"plain", {}),
    "/picture": (200, "image/png", b"\x89PNG", {}),
    "/broken": (500, "text/plain", b"it broke", {}),
}


@contextmanager
def pets() -> Iterator[Api]:
    """The API, until the block ends."""

    class Handler(_Handler):
        pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    api = Handler.api = Api(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield api
    finally:
        api.release.set()
        server.shutdown()
        server.server_close()
        thread.join(10)

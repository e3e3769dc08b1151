"""A tiny MCP endpoint over HTTP for commands to talk to, which says what the test tells it to say."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

__all__ = ["Endpoint", "Reply", "running_endpoint"]

Reply = Callable[[dict[str, Any]], Any]
"""From the request message to a result (dict), or to (status, content type, body)."""


class Endpoint:
    """What was asked, with its headers, and what to answer by method."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.replies: dict[str, Reply] = {}
        self.url = ""
        self.over = threading.Event()

    def leave_unanswered(self) -> dict[str, Any]:
        """Keep a question waiting until the test is over."""
        self.over.wait(60)
        return {}

    def answer(self, message: dict[str, Any]) -> tuple[int, str, bytes]:
        """Status, content type and body for one message."""
        reply = self.replies.get(message["method"])
        if reply is None:
            return self.error(message, -32601, "no such method", {"reason": "method_not_found"})
        found = reply(message)
        if isinstance(found, tuple):
            return found
        body = {"jsonrpc": "2.0", "id": message["id"], "result": found}
        return 200, "application/json", json.dumps(body).encode()

    def error(
        self, message: dict[str, Any], code: int, text: str, data: Any = None, status: int = 200
    ) -> tuple[int, str, bytes]:
        """A JSON-RPC error as an answer."""
        body = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": text}}
        if data is not None:
            body["error"]["data"] = data
        return status, "application/json", json.dumps(body).encode()

    def enter(self, state: Path) -> None:
        """Write the `gateway.json` of a gateway that runs here."""
        state.mkdir(parents=True, exist_ok=True)
        running = {
            "url": self.url,
            "pid": os.getpid(),
            "operator_token": "operator-token",
            "local_token": "local-token",
            "version": "0.1.0",
        }
        (state / "gateway.json").write_text(json.dumps(running))


@contextmanager
def running_endpoint() -> Iterator[Endpoint]:
    """An endpoint that listens on a free port of the loopback address."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append(message)
            endpoint.headers.append({"path": self.path, **dict(self.headers.items())})
            status, kind, body = endpoint.answer(message)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            with contextlib.suppress(OSError):  # whoever asked may be tired of waiting
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/mcp"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.over.set()
        server.shutdown()
        server.server_close()
        thread.join(10)

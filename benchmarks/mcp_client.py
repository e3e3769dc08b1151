"""A small blocking MCP client over HTTP, both eras: it opens sessions, asks single questions, and
spells out requests for the load generator to repeat. Not for measuring many calls itself."""

from __future__ import annotations

import http.client
import json
from typing import Any
from urllib.parse import urlsplit

from benchmarks.load.generate import PLACE
from benchmarks.processes import Trouble

__all__ = ["HELLO", "LEGACY", "MODERN", "Session", "close_all", "is_called", "open_sessions"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
PATIENCE = 60.0
_INFO = {"name": "benchmark", "version": "1"}
HELLO = {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": _INFO}
"""The params of `initialize`."""
_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": _INFO,
}


def is_called(shown: str, name: str) -> bool:
    """Whether a name that a gateway shows is that of the tool `name`, or `server/name`. Gateways put
    the server's name before it, with some separator between."""
    server, _, own = name.rpartition("/")
    if shown == own and not server:
        return True
    prefix = shown.removesuffix(own)
    return prefix != shown and prefix.startswith(server) and not prefix[-1:].isalnum()


def _message(kind: str, body: bytes) -> Any:
    """The last JSON value of a body: plain, or in the `data:` lines of an event stream."""
    if not kind.startswith("text/event-stream"):
        return json.loads(body) if body else None
    data = [line[5:].strip() for line in body.splitlines() if line.startswith(b"data:")]
    return json.loads([line for line in data if line][-1])


class Session:
    """One client's view of one server: a connection, and in the legacy era a session."""

    def __init__(self, url: str, era: str = "legacy", key: str = "") -> None:
        """`key` is the credential; none where it is empty."""
        where = urlsplit(url)
        self.host = where.hostname or "127.0.0.1"
        self.port = where.port or 80
        self.modern = era == "modern"
        self._path = where.path
        self._session: str | None = None
        self._key = key
        self._number = 0
        self._line = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def open(self) -> None:
        """Say hello. Raises `Trouble` when the server does not want to talk."""
        if self.modern:
            self.ask("server/discover", {})
            return
        self.ask("initialize", HELLO)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        """Hang up, without a word."""
        self._line.close()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send one request and give its result. Raises `Trouble` for any error."""
        self._number += 1
        reply = self._post(self._payload(method, params, self._number))
        if not isinstance(reply, dict) or reply.get("id") != self._number or "result" not in reply:
            raise Trouble(f"{method} at port {self.port} was answered {str(reply)[:300]}")
        result: dict[str, Any] = reply["result"]
        return result

    def tool(self, name: str) -> str:
        """What the server calls a tool: `echo`, or `server/echo` behind a gateway with several."""
        listed = [each["name"] for each in self.ask("tools/list", {})["tools"]]
        for each in listed:
            if is_called(each, name):
                return str(each)
        raise Trouble(f"port {self.port} offers no tool {name}, only {listed[:10]}")

    def spelled(self, method: str, params: dict[str, Any], number: int = int(PLACE)) -> bytes:
        """A request as the bytes that travel, header included."""
        payload = self._payload(method, params, number)
        body = json.dumps(payload, separators=(",", ":")).encode()
        head = {"Host": f"{self.host}:{self.port}", **self.headers(payload)}
        head["Content-Length"] = str(len(body))
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        return f"POST {self._path} HTTP/1.1\r\n{lines}\r\n".encode() + body

    def _payload(self, method: str, params: dict[str, Any], number: int) -> dict[str, Any]:
        if self.modern:
            params = {**params, "_meta": _META}
        return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}

    def headers(self, payload: dict[str, Any]) -> dict[str, str]:
        """The HTTP header of a request with this body."""
        headers = {
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        if self.modern:
            headers |= {"MCP-Protocol-Version": MODERN, "Mcp-Method": payload["method"]}
            if "name" in payload["params"]:
                headers["Mcp-Name"] = payload["params"]["name"]
        elif self._session is not None:
            headers |= {"MCP-Protocol-Version": LEGACY, "Mcp-Session-Id": self._session}
        return headers

    def _send(self, body: str, payload: dict[str, Any]) -> tuple[http.client.HTTPResponse, bytes]:
        """Servers close connections that were idle for some seconds: then once more, on a new one."""
        problem: Exception | None = None
        for _ in range(2):
            try:
                self._line.request("POST", self._path, body, self.headers(payload))
                reply = self._line.getresponse()
                return reply, reply.read()
            except (BrokenPipeError, ConnectionResetError, http.client.RemoteDisconnected) as stale:
                problem = stale
                self._line.close()
            except (OSError, http.client.HTTPException) as broken:
                problem = broken
                break
        raise Trouble(f"no answer from port {self.port}: {problem!r}") from problem

    def _post(self, payload: dict[str, Any]) -> Any:
        reply, data = self._send(json.dumps(payload, separators=(",", ":")), payload)
        if reply.status not in {200, 202}:
            raise Trouble(f"HTTP {reply.status} from port {self.port}: {data[:300]!r}")
        self._session = reply.getheader("Mcp-Session-Id") or self._session
        return _message(reply.getheader("Content-Type") or "", data)


def open_sessions(url: str, count: int, era: str = "legacy") -> list[Session]:
    """So many clients, all said hello."""
    opened = [Session(url, era) for _ in range(count)]
    for each in opened:
        each.open()
    return opened


def close_all(sessions: list[Session]) -> None:
    """Hang up on all of them."""
    for each in sessions:
        each.close()

"""The caller who sends hostile inputs, and what it can have an operator do."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.mcp_client import MODERN, Session

__all__ = ["Hostile"]

PATIENCE_S = 120.0
_CHANGED = "# changed\n"

API = """
[[servers]]
id = "api"
openapi = {path}
"""
LOAD_S = 6.0
"""How long the gateway has to notice a document, and to read it."""


class Hostile:
    """The caller who sends hostile inputs, over one connection a request."""

    def __init__(self, url: str, config: Path | None = None, key: str = "") -> None:
        """`config` is the gateway's file, where that may be changed; `key` the credential, where there is one."""
        where = urlsplit(url)
        self.config = config
        self._turns = 0
        self.host, self.port = where.hostname or "", where.port or 80
        self._session = Session(url, key=key)
        self._session.open()
        self._headers = self._session.headers({"method": "tools/call", "params": {}})

    def close(self) -> None:
        """Hang up."""
        self._session.close()

    def post(self, path: str, body: bytes, **headers: str) -> str:
        """How a request was answered: the status, and of a JSON-RPC answer what it says."""
        try:
            status, answer = self._posted(path, body, headers)
        except OSError as problem:
            return f"{type(problem).__name__}"
        return f"{status} {_said(answer)}"

    def asked(self, method: str, params: dict[str, Any]) -> Any:
        """The result of a request to the MCP endpoint; None where there is none. For short ones."""
        body = json.dumps({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}).encode()
        found = self._posted("/mcp", body, self._headers)[1]
        data = [
            line[5:] for line in found.splitlines() if line.startswith(b"data:") and b"{" in line
        ]
        return json.loads(data[-1] if data else found).get("result")

    def _posted(self, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
        line = http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE_S)
        try:
            line.request("POST", path, body, {"Content-Type": "application/json", **headers})
            answer = line.getresponse()
            return answer.status, answer.read()
        finally:
            line.close()

    def mcp(self, body: bytes) -> str:
        """A frame to the MCP endpoint."""
        return self.post("/mcp", body, **self._headers)

    def alone(self, body: bytes) -> str:
        """A frame to the MCP endpoint that names no session and no revision."""
        return self.post("/mcp", body, Accept="application/json, text/event-stream")

    def modern(self, body: bytes, name: str = "") -> bytes:
        """The last message of the answer to a request of the modern era, whose method and name its headers have to say."""
        method = body.partition(b'"method": "')[2].partition(b'"')[0].decode()
        headers = {**self._headers, "MCP-Protocol-Version": MODERN, "Mcp-Method": method}
        headers.pop("Mcp-Session-Id", None)
        if name:
            headers["Mcp-Name"] = name
        found = self._posted("/mcp", body, headers)[1]
        data = [line[5:] for line in found.splitlines() if line.startswith(b"data:")]
        return data[-1] if data else found

    def call(self, tool: str, arguments: bytes) -> str:
        """A call of a tool of the hostile server."""
        return self.call_of(f"hostile__{tool}", arguments)

    def call_of(self, tool: str, arguments: bytes) -> str:
        """A call of a tool."""
        head = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"progressToken":7},"name":"'
        return self.mcp(head + tool.encode() + b'","arguments":' + arguments + b"}}")

    def changed(self) -> None:
        """The operator changes something in the file that the gateway follows."""
        if self.config is not None:
            text = self.config.read_text(encoding="utf-8")
            self._turns += 1
            more = f'[[grants]]\nagent = "nobody-{self._turns}"\nserver = "calm"\n'
            self.config.write_text(text.partition(_CHANGED)[0] + _CHANGED + more, encoding="utf-8")

    def offered(self, document: bytes) -> str:
        """What becomes of an OpenAPI document: the operator adds a server, the gateway follows its file, and it is taken away."""
        if self.config is None:
            return "no file to add it to"
        text = self.config.read_text(encoding="utf-8")
        path = self.config.with_name("api.json")
        path.write_bytes(document)
        self.config.write_text(text + API.format(path=json.dumps(str(path))), encoding="utf-8")
        time.sleep(LOAD_S)
        said = self.mcp(b'{"jsonrpc":"2.0","id":8,"method":"tools/list"}')
        self.config.write_text(text, encoding="utf-8")
        time.sleep(1.0)
        return said


def _said(body: bytes) -> str:
    for mark in (
        b'"reason":"',
        b'"rule":"',
        b'"message":"',
        b'"isError":true',
        b'"result"',
        b'"error"',
    ):
        at = body.rfind(mark, 0, 20_000)
        if at >= 0:
            return body[at : at + 60].decode("utf-8", "replace").replace("\n", " ")
    return f"{len(body)} bytes"

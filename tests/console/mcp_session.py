"""An MCP host with a session, over Streamable HTTP of 2025-11-25, by the standard library alone."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from gatewright.cli.running import read_running
from tests.console.running import Console

__all__ = ["McpSession", "of_operator"]


class McpSession:
    """One session of one host."""

    def __init__(self, console: Console, name: str = "host", key: str = "") -> None:
        self._url = console.mcp
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self._count = 0
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": name, "version": "1"},
        }
        self.id = ""
        self.ask("initialize", params)
        self._headers["MCP-Protocol-Version"] = "2025-11-25"
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """The whole answer to a request."""
        self._count += 1
        said = {"jsonrpc": "2.0", "id": self._count, "method": method, "params": params}
        text = self._post(said)
        lines = [one.removeprefix("data:") for one in text.splitlines() if one.startswith("data:")]
        answers = [json.loads(one) for one in (lines or [text]) if one.strip()]
        return next(one for one in answers if one.get("id") == self._count)

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool."""
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def _post(self, said: dict[str, Any]) -> str:
        request = urllib.request.Request(self._url, json.dumps(said).encode(), self._headers)  # noqa: S310 - our own address
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            session = answer.headers.get("mcp-session-id")
            if session:
                self.id = session
                self._headers["MCP-Session-Id"] = session
            found: str = answer.read().decode()
            return found


def of_operator(console: Console) -> McpSession:
    """A session of the machine's own user, as `gatewright tool call` has one, without the start of a process for each call."""
    return McpSession(
        console, "gatewright", read_running(console.config.parent / "state").operator_token
    )

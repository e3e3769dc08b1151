"""A tool server whose annotations say what its tools do; `--later` says it only after the first call, by another list."""

from __future__ import annotations

import json
import sys
from typing import Any

LATER = "--later" in sys.argv
HINTS: dict[str, dict[str, Any]] = {
    "wipe": {"destructiveHint": True, "readOnlyHint": True},
    "search": {"openWorldHint": True},
    "read": {"destructiveHint": False, "openWorldHint": False},
    "plain": {},
}


class Server:
    """One connection on standard input and output."""

    said = not LATER

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a request; None for one that is not known."""
        if method == "initialize":
            return {
                "protocolVersion": params["protocolVersion"],
                "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "hinting", "version": "1"},
            }
        if method == "tools/list":
            return {"tools": [self.tool(name) for name in HINTS]}
        if method == "tools/call":
            if not self.said:
                self.said = True
                send({"method": "notifications/tools/list_changed"})
            return {"content": [{"type": "text", "text": f"ran {params['name']}"}]}
        return {} if method == "ping" else None

    def tool(self, name: str) -> dict[str, Any]:
        """A definition."""
        made: dict[str, Any] = {"name": name, "inputSchema": {"type": "object"}}
        return {**made, "annotations": HINTS[name]} if self.said and HINTS[name] else made


def send(message: dict[str, Any]) -> None:
    """Write one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until the input ends."""
    server = Server()
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message or "method" not in message:
            continue
        result = server.answer(message["method"], message.get("params") or {})
        if result is None:
            send({"id": message["id"], "error": {"code": -32601, "message": "unknown"}})
        else:
            send({"id": message["id"], "result": result})


if __name__ == "__main__":
    main()

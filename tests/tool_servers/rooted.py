"""A server that asks for roots right after `initialized`, and never in a call, as file servers do.

    python tests/tool_servers/rooted.py [LATE_S]

The tool `allowed` says which roots it was shown on this connection, and how often it asked. It asks again when they change.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, hello, serve_stdio

__all__ = ["Rooted", "main"]


class Rooted:
    """One connection's worth of it."""

    def __init__(self, late_s: float) -> None:
        self._late_s = late_s
        self._roots: list[str] = []
        self._asked = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def _ask(self, call: Call) -> None:
        await asyncio.sleep(self._late_s)
        self._asked += 1
        try:
            found = await call.client.ask("roots/list", None, call.client.send)
        except RefusalError:
            return
        self._roots = [one["uri"] for one in found["roots"]]

    async def __call__(self, call: Call) -> Any:
        """Answer one message."""
        if call.method in ("notifications/initialized", "notifications/roots/list_changed"):
            task = asyncio.create_task(self._ask(call))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if call.id is None:
            return None
        if call.method == "initialize":
            return hello(call, "rooted", {"tools": {}})
        if call.method == "tools/list":
            tool = {"name": "allowed", "inputSchema": {"type": "object"}}
            return {"tools": [tool]}
        if call.method == "tools/call":
            said = {"roots": self._roots, "asked": self._asked}
            return {"content": [{"type": "text", "text": json.dumps(said)}]}
        raise RefusalError(-32601, "Method not found")


def main(words: list[str]) -> int:
    """Serve until the input ends."""
    return serve_stdio(Rooted(float(words[0]) if words else 0.0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

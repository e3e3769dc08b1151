"""A server that speaks MGP and says of its errors whether asking again helps.

    python tests/servers/faltering.py

`falter {key, times, code, hint}` fails so many times for each key, with `hint` as `_mgp`, and then answers; `other` answers
always; `count {key}` says how often `falter` was called for a key.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

calls: Counter[str] = Counter()


def _text(words: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}]}


def _falter(given: dict[str, Any]) -> dict[str, Any]:
    calls[given["key"]] += 1
    if calls[given["key"]] <= given["times"]:
        raise RefusalError(given.get("code", 3000), "not now", {"_mgp": given["hint"]})
    return _text(f"after {calls[given['key']]}")


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    if call.method == "initialize":
        mgp = {"version": "0.2.0", "extensions": ["security"]}
        return {
            "protocolVersion": call.params["protocolVersion"],
            "capabilities": {"tools": {}, "mgp": mgp},
            "serverInfo": {"name": "faltering", "version": "1"},
        }
    if call.method == "tools/list":
        names = ("falter", "other", "count")
        return {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in names]}
    if call.method == "tools/call":
        given = call.params.get("arguments", {})
        if call.params["name"] == "falter":
            return _falter(given)
        return _text(str(calls[given["key"]]) if call.params["name"] == "count" else "other")
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main() -> int:
    """Serve one client."""
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

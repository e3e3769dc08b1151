"""A server whose tools pay, and end in every way in which a call can end.

    python tests/servers/paying.py LEDGER

`pay {key, how, error}` writes a line with `key` into LEDGER before anything else, so that it counts also where the process
dies, and then: `answers`, `fails` (a result with `isError`), raises `error` (`{code, data}`), `hangs`, `dies`, or answers `garbage`. `pay_hinted` is
the same tool with every hint of its server that it may be repeated.
"""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

HINTS = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False}


def _run(key: str) -> None:
    with Path(sys.argv[1]).open("a") as ledger:
        ledger.write(f"{key}\n")


async def _pay(given: dict[str, Any]) -> Any:
    _run(given["key"])
    how = given["how"]
    if how == "raises":
        raise RefusalError(given["error"]["code"], "not now", given["error"].get("data"))
    if how == "hangs":
        await asyncio.sleep(3600)
    if how == "dies":
        os._exit(1)
    if how == "garbage":
        return "no object"
    content = [{"type": "text", "text": how}]
    return {"content": content, "isError": how == "fails"}


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    if call.method == "initialize":
        mgp = {"version": "0.2.0", "extensions": ["security"]}
        return {
            "protocolVersion": call.params["protocolVersion"],
            "capabilities": {"tools": {}, "mgp": mgp},
            "serverInfo": {"name": "paying", "version": "1"},
        }
    if call.method == "tools/list":
        plain = {"inputSchema": {"type": "object"}}
        tools = [{"name": one, **plain} for one in ("pay", "pay_vouched")]
        return {"tools": [*tools, {"name": "pay_hinted", **plain, "annotations": HINTS}]}
    if call.method == "tools/call":
        return await _pay(call.params["arguments"])
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main() -> int:
    """Serve one client."""
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

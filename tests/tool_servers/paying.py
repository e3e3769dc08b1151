"""A server that speaks MGP, or with `plain` never heard of it, whose calls end in every way in which a call can end.

    python tests/tool_servers/paying.py [LEDGER [plain]]

`pay {key, how, error}` writes a line with `key` into LEDGER before anything else, so that it counts also where the process
dies, and then: `answers`, `fails` (a result with `isError`), raises `error` (`{code, data}`), `hangs`, `dies`, or answers `garbage`. `pay_hinted` is
the same tool with every hint of its server that it may be repeated.

`falter {key, times, code, hint}` fails so many times for each key, with `hint` as `_mgp`, and then answers; it writes into LEDGER, too,
where there is one. `other` answers always; `count {key}` says how often `falter` was called for a key, and `times {key}` when, in
milliseconds of a clock that never goes back.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

HINTS = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False}

calls: Counter[str] = Counter()
times: defaultdict[str, list[float]] = defaultdict(list)


def _run(key: str) -> None:
    with Path(sys.argv[1]).open("a") as ledger:
        ledger.write(f"{key}\n")


def _text(words: str, *, failed: bool = False) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "isError": failed}


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
    return _text(how, failed=how == "fails")


async def _falter(given: dict[str, Any]) -> Any:
    times[given["key"]].append(time.monotonic() * 1000)
    calls[given["key"]] += 1
    if len(sys.argv) > 1:
        _run(given["key"])
    if calls[given["key"]] <= given["times"]:
        raise RefusalError(given.get("code", 3000), "not now", {"_mgp": given["hint"]})
    return _text(f"after {calls[given['key']]}")


async def _other(given: dict[str, Any]) -> Any:
    return _text("other")


async def _count(given: dict[str, Any]) -> Any:
    return _text(str(calls[given["key"]]))


async def _times(given: dict[str, Any]) -> Any:
    return _text(json.dumps(times[given["key"]]))


TOOLS = {
    "pay": _pay,
    "pay_vouched": _pay,
    "pay_hinted": _pay,
    "falter": _falter,
    "other": _other,
    "count": _count,
    "times": _times,
}


def _described(name: str) -> dict[str, Any]:
    hints = {"annotations": HINTS} if name == "pay_hinted" else {}
    return {"name": name, "inputSchema": {"type": "object"}, **hints}


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    if call.method == "initialize":
        mgp = {"mgp": {"version": "0.2.0", "extensions": ["security"]}}
        return {
            "protocolVersion": call.params["protocolVersion"],
            "capabilities": {"tools": {}, **({} if "plain" in sys.argv else mgp)},
            "serverInfo": {"name": "paying", "version": "1"},
        }
    if call.method == "tools/list":
        return {"tools": [_described(name) for name in TOOLS]}
    if call.method == "tools/call":
        return await TOOLS[call.params["name"]](call.params.get("arguments", {}))
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main() -> int:
    """Serve one client."""
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

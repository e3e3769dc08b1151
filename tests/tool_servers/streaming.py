"""A foreign MGP server that streams, as those on the MCP SDK 1.x do it.

    python tests/tool_servers/streaming.py [--plain]

It declares MGP in `experimental.mgp`. What it says at the end is a JSON text that has `_mgp` within; the partial result of a
cancellation is a plain string; a call that was cancelled gets its own normal result all the same. `--plain` knows nothing of MGP, and
reports progress as MCP has it.

Tools: `think` (`text`, in pieces at blanks or of `size` characters, `pause` seconds after each), `slow` (waits, and says how far it is), `seen` (what it was
sent, as JSON).
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, hello, serve_stdio

__all__ = ["app", "main"]

NAMES = ("think", "slow", "seen", "wrong")
plain = False
seen: list[dict[str, Any]] = []
active: dict[Any, list[str]] = {}
ended: set[Any] = set()


def _hello(call: Call) -> dict[str, Any]:
    found: dict[str, Any] = {"tools": {}}
    if not plain:
        found["experimental"] = {"mgp": {"version": "0.1.0", "extensions": ["streaming"]}}
    return hello(call, "streaming", found)


async def _chunk(call: Call, index: Any, text: str, *, done: bool) -> None:
    params = {
        "request_id": call.id,
        "index": index,
        "content": {"type": "text", "text": text},
        "done": done,
    }
    await call.notify("notifications/mgp.stream.chunk", params)


def _result(text: str, **mgp: Any) -> dict[str, Any]:
    body = json.dumps({"text": text, "_mgp": mgp} if mgp else {"text": text})
    return {"content": [{"type": "text", "text": body}]}


async def _think(call: Call, pieces: list[str], pause: float) -> dict[str, Any]:
    streams = not plain and (call.params.get("_mgp") or {}).get("stream") is True
    said = active[call.id] = []
    try:
        for index, piece in enumerate(pieces):
            if call.id in ended:
                break
            said.append(piece)
            if streams:
                await _chunk(call, index, piece, done=index == len(pieces) - 1)
            await asyncio.sleep(pause)
    finally:
        del active[call.id]
    mgp = {"streamed": True, "chunks_sent": len(said)} if streams else {}
    return _result("".join(said), **mgp)


async def _slow(call: Call, steps: int, pause: float) -> dict[str, Any]:
    active[call.id] = []
    try:
        for step in range(1, steps + 1):
            await asyncio.sleep(pause)
            if plain:
                await call.progress(step, steps, f"step {step}")
            else:
                # Once it goes back, and once it is no number at all: nobody is to see that.
                far = "much" if step == 3 else -1 if step == 2 else step / steps
                about = {"request_id": call.id, "progress": far, "message": f"step {step}"}
                await call.notify("notifications/mgp.stream.progress", about)
            if call.id in ended:
                return _result("stopped")
    finally:
        del active[call.id]
    return _result("slept")


async def _wrong(call: Call) -> dict[str, Any]:
    """Chunks that are none of the kind, and numbers that are none."""
    for index in (7, "x", None):
        await _chunk(call, index, f"{index} ", done=False)
    await call.notify("notifications/mgp.stream.chunk", {"request_id": call.id, "content": "text"})
    return _result("wrong")


def _cancel(call: Call) -> dict[str, Any]:
    ident = call.params.get("request_id")
    if ident not in active:
        return {"cancelled": False, "reason": "not_active"}
    ended.add(ident)
    return {"cancelled": True, "partial_result": {"content": "".join(active[ident])}}


async def _call(call: Call) -> Any:
    name, given = call.params["name"], call.params.get("arguments") or {}
    if name == "think":
        size = given.get("size")
        pieces = re.findall(f"(?s).{{1,{size}}}" if size else r"\S+\s*", given["text"])
        return await _think(call, pieces, given.get("pause", 0.0))
    if name == "slow":
        return await _slow(call, given.get("steps", 4), given.get("pause", 0.02))
    if name == "wrong":
        return await _wrong(call)
    return {"content": [{"type": "text", "text": json.dumps(seen)}]}


async def app(call: Call) -> Any:
    """Answer one message."""
    seen.append({"method": call.method, "params": call.params})
    if call.method == "initialize":
        return _hello(call)
    if call.method == "tools/list":
        return {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in NAMES]}
    if call.method == "tools/call":
        return await _call(call)
    if call.method == "mgp/stream/cancel" and not plain:
        return _cancel(call)
    if call.method == "ping":
        return {}
    if call.id is None:
        return None
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    global plain
    plain = "--plain" in (sys.argv[1:] if arguments is None else arguments)
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

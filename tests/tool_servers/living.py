"""A server with a life: it answers the methods of MGP §11, is slow, ends as it is told to, and says that it drains.

    python tests/tool_servers/living.py [--mgp] [--deaf] [--status STATUS] [--unsupported CODE] [--slow-start SECONDS] [--log FILE] [--exit STATUS]

Tools: `slow` (seconds), `pid`, `requests` (the methods it was sent), `leave` (ends with a status), `drains` (notifies
`notifications/mgp.lifecycle` with the params given). Without `--mgp` it is plain MCP, and refuses unknown methods with `--unsupported`;
with `--deaf` it negotiates MGP and then refuses each of its methods so.
With `--log` it writes a line to a file when it starts; with `--exit` it ends right then.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

options = argparse.Namespace(mgp=False, deaf=False, status="healthy", unsupported=-32601)
seen: list[str] = []
began = time.monotonic()


def _hello(call: Call) -> dict[str, Any]:
    offer = call.params.get("capabilities", {}).get("mgp")
    capabilities: dict[str, Any] = {"tools": {}}
    if options.mgp and offer is not None:
        agreed = [one for one in ("security", "lifecycle") if one in offer["extensions"]]
        capabilities["mgp"] = {"version": "0.2.0", "extensions": agreed, "server_id": "living"}
    return {
        "protocolVersion": call.params["protocolVersion"],
        "capabilities": capabilities,
        "serverInfo": {"name": "living", "version": "1"},
    }


async def _tool(call: Call) -> Any:
    name, given = call.params["name"], call.params.get("arguments") or {}
    said = "done"
    if name == "slow":
        await asyncio.sleep(given["seconds"])
    elif name == "leave":
        os._exit(given.get("status", 0))
    elif name == "drains":
        await call.client.send(
            json.dumps({"jsonrpc": "2.0", "method": "notifications/mgp.lifecycle", "params": given})
        )
    elif name == "pid":
        said = str(os.getpid())
    elif name == "requests":
        said = json.dumps(seen)
    return {"content": [{"type": "text", "text": said}]}


def _own(call: Call) -> Any:
    if call.method == "mgp/health/ping":
        return {
            "status": options.status,
            "timestamp": "2026-01-01T00:00:00.000Z",
            "uptime_secs": 77,
            "server_id": "living",
        }
    if call.method == "mgp/health/status":
        return {
            "status": options.status,
            "uptime_secs": 77,
            "tools_available": 1,
            "tools_total": 1,
            "pending_requests": 0,
            "resources": {"gpu_fans": 3, "nested": {"a": 1}},
            "checks": {
                "moon_is_up": False,
                "key": "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
            },
        }
    return {"accepted": True, "pending_requests": 0, "estimated_drain_ms": 123}


async def app(call: Call) -> Any:
    """Answer one message."""
    seen.append(call.method)
    if call.id is None:
        return None
    if call.method == "initialize":
        return _hello(call)
    if call.method == "tools/list":
        names = ("slow", "pid", "requests", "leave", "drains")
        return {"tools": [{"name": one, "inputSchema": {"type": "object"}} for one in names]}
    if call.method == "tools/call":
        return await _tool(call)
    if call.method == "ping":
        return {}
    if options.mgp and not options.deaf and call.method.startswith("mgp/"):
        return _own(call)
    raise RefusalError(options.unsupported, f"no {call.method}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    global options
    parser = argparse.ArgumentParser(description="A server with a life")
    parser.add_argument("--mgp", action="store_true")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--status", default="healthy")
    parser.add_argument("--unsupported", type=int, default=-32601)
    parser.add_argument("--slow-start", type=float, default=0.0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--exit", type=int)
    options = parser.parse_args(arguments)
    if options.log is not None:
        with options.log.open("a") as log:
            log.write(f"{time.time()}\n")
    if options.exit is not None:
        return int(options.exit)
    time.sleep(options.slow_start)
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

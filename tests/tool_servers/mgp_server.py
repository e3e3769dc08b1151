"""A server that speaks MGP: it says what was negotiated, declares security, puts `_mgp` into results.

    python tests/tool_servers/mgp_server.py [--place mgp|experimental|extensions] [--validator NAME]

Tools: `hello` (the agreed extensions), `requests` (what it was sent, as JSON), `annotated` (a result
with `_mgp`), `fail` (an error with `_mgp` in its data).
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

OURS = ("security", "audit", "lifecycle", "streaming")
RECOVERY = {"category": "external", "retryable": True, "retry_after_ms": 5}

place = "mgp"
validator = "none"
agreed: list[str] = []
seen: list[dict[str, Any]] = []


def _offer(capabilities: dict[str, Any]) -> dict[str, Any] | None:
    if place == "mgp":
        return capabilities.get("mgp")
    if place == "experimental":
        return (capabilities.get("experimental") or {}).get("mgp")
    return (capabilities.get("extensions") or {}).get("dev.cloto/mgp")


def _hello(call: Call) -> dict[str, Any]:
    offer = _offer(call.params.get("capabilities", {}))
    capabilities: dict[str, Any] = {"tools": {}}
    if offer is not None:
        agreed[:] = [one for one in OURS if one in offer["extensions"]]
        body = {"version": "0.1.0", "extensions": agreed, "server_id": "mind.test"}
        if place == "mgp":
            capabilities["mgp"] = body
        elif place == "experimental":
            capabilities["experimental"] = {"mgp": body}
        else:
            capabilities["extensions"] = {"dev.cloto/mgp": body}
    return {
        "protocolVersion": call.params["protocolVersion"],
        "capabilities": capabilities,
        "serverInfo": {"name": "governed", "version": "1"},
    }


def _tool(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": name,
        "inputSchema": {"type": "object"},
        "security": {"risk_level": "safe", "side_effects": [], "validator": validator},
    }


def _call(name: str) -> Any:
    if name == "fail":
        raise RefusalError(5000, "upstream said no", {"_mgp": RECOVERY, "kept": 1})
    if name == "annotated":
        return {
            "content": [{"type": "text", "text": "done"}],
            "_mgp": {"streamed": False, "duration_ms": 3},
        }
    told = {"extensions": agreed} if name == "hello" else seen
    return {"content": [{"type": "text", "text": json.dumps(told)}]}


async def app(call: Call) -> Any:
    """Answer one message."""
    seen.append({"method": call.method, "params": call.params})
    if call.id is None:
        return None
    if call.method == "initialize":
        return _hello(call)
    if call.method == "tools/list":
        return {"tools": [_tool(name) for name in ("hello", "requests", "annotated", "fail")]}
    if call.method == "tools/call":
        return _call(call.params["name"])
    if call.method == "ping":
        return {}
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    global place, validator
    parser = argparse.ArgumentParser(description="A server that speaks MGP")
    parser.add_argument("--place", default="mgp", choices=["mgp", "experimental", "extensions"])
    parser.add_argument("--validator", default="none")
    options = parser.parse_args(arguments)
    place, validator = options.place, options.validator
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main())

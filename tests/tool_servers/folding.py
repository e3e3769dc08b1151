"""A server that reads methods as generously as any could: what folds to `tools/call` runs a tool, with an id or without.

    python tests/tool_servers/folding.py LOG

Every message is a line of LOG, as a JSON array: the method, and the tool that it ran, if any.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.mcp.wire.names import folded

__all__ = ["main"]

TOOLS = [
    {"name": name, "description": name, "inputSchema": {"type": "object"}}
    for name in ("fine", "wipe")
]
FOLDED = {
    folded(one): one for one in ("tools/call", "initialize", "tools/list", "ping", "tasks/get")
}


def _answer(method: str, params: dict[str, Any], ran: list[str]) -> Any:
    read = FOLDED.get(folded(method), folded(method.rpartition("/")[2]))
    if read == "initialize":
        version = params.get("protocolVersion", "2025-11-25")
        capabilities: dict[str, Any] = {"tools": {}, "tasks": {}}
        return {
            "protocolVersion": version,
            "capabilities": capabilities,
            "serverInfo": {"name": "folding"},
        }
    if read == "tools/list":
        return {"tools": TOOLS}
    if read == "tools/call" or "name" in params:
        ran.append(str(params.get("name")))
        return {"content": [{"type": "text", "text": "ran"}]}
    return {}


def main(log: str) -> int:
    """Serve over standard input and output until that ends."""
    with Path(log).open("a", buffering=1) as out:
        for line in sys.stdin:
            message = json.loads(line)
            method = message.get("method")
            ran: list[str] = []
            if method is None:
                continue
            if method == "server/discover":
                answer: dict[str, Any] = {"error": {"code": -32601, "message": "an old server"}}
            else:
                answer = {"result": _answer(method, message.get("params") or {}, ran)}
            out.write(json.dumps([method, ran]) + "\n")
            if "id" in message:
                sys.stdout.write(
                    json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}) + "\n"
                )
                sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

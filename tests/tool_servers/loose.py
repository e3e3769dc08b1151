"""A server that writes down all that it gets, byte for byte, and offers tools, a resource, a prompt and methods of its own.

    python tests/tool_servers/loose.py LOG

Before it answers a call it says what the argument `said` has, message by message; it answers with the argument `result` or `error`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "task_name": {"type": "string"},
        "options": {"$ref": "#/$defs/options"},
        "rows": {"type": "array", "items": {"properties": {"key": {"type": "integer"}}}},
        "words": {"type": "object", "additionalProperties": {"type": "string"}},
    },
    "$defs": {"options": {"allOf": [{"properties": {"mode": {"type": "string"}}}]}},
}
TOOLS = [
    {"name": "read", "description": "reads", "inputSchema": SCHEMA},
    {"name": "free", "description": "free", "inputSchema": {"type": "object"}, "vendor": 1},
    {
        "name": "say",
        "Name": "pay",
        "NAME": "pay",
        "description": "says",
        "Description": "pays",
        "input_schema": {},
        "inputSchema": {"type": "object"},
        "outputSchema": {"type": "object", "properties": {"amount": {"type": "integer"}}},
    },
]
ANSWERS: dict[str, Any] = {
    "tools/list": {"tools": TOOLS},
    "tools/call": {"content": [{"type": "text", "text": "ran"}]},
    "resources/list": {"resources": [{"uri": "loose:///a", "name": "a"}]},
    "prompts/list": {"prompts": [{"name": "p"}]},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
}
CAN: dict[str, Any] = {
    "tools": {},
    "resources": {"subscribe": True},
    "prompts": {},
    "completions": {},
    "logging": {},
}


def main(log: str) -> int:
    """Serve over standard input and output until that ends."""
    with Path(log).open("a", buffering=1) as out:
        for line in sys.stdin:
            out.write(line)
            message = json.loads(line)
            method, ident = message.get("method"), message.get("id")
            if method is None or ident is None:
                continue
            words = (message.get("params") or {}).get("arguments") or {}
            for said in words.get("said", ()):
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", **said}) + "\n")
            answer: dict[str, Any] = {"result": ANSWERS.get(method, {"contents": []})}
            if "result" in words or "error" in words:
                answer = words
            if method == "initialize":
                hello = {"protocolVersion": "2025-11-25", "capabilities": CAN}
                answer = {"result": {**hello, "serverInfo": {"name": "loose", "version": "1"}}}
            elif method == "server/discover":
                answer = {"error": {"code": -32601, "message": "an old server"}}
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": ident, **answer}) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""A server as an agent writes one: one tool, `shout`, in plain Python that code safety lets pass.

`shout` takes `wait` seconds to answer. It is registered while the gateway runs (tests/behaviour/test_registration.py).
"""

from __future__ import annotations

import json
import sys
import time

TOOL = {
    "name": "shout",
    "description": "Say it in capitals",
    "inputSchema": {
        "type": "object",
        "properties": {"text": {"type": "string"}, "wait": {"type": "number"}},
        "required": ["text"],
    },
}


def answer(method: str, params: dict) -> dict:  # type: ignore[type-arg]
    """The result of one request."""
    if method == "initialize":
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "shouting", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        time.sleep(params["arguments"].get("wait", 0))
        text = params["arguments"]["text"].upper()
        return {"content": [{"type": "text", "text": text}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = answer(message["method"], message.get("params") or {})
        sys.stdout.write(
            json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n"
        )
        sys.stdout.flush()

"""A server with one tool, `echo`, that answers as fast as plain Python can.

    python tests/tool_servers/echo.py [--delay SECONDS] [--http PORT]

On stdio without a delay it is one loop over the lines of stdin, so that what is measured in front
of it is not this server. With a delay every call waits by itself; calls do not queue up.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import LEGACY, Call, RefusalError, serve_stdio

__all__ = ["main"]

TOOLS = [
    {
        "name": "echo",
        "description": "Say the same again",
        "inputSchema": {
            "type": "object",
            "properties": {"message": {"type": "string"}},
            "required": ["message"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True},
    }
]


def _answer(method: str, params: dict[str, Any]) -> Any:
    if method == "tools/call":
        if params.get("name") != "echo":
            raise RefusalError(-32602, f"Unknown tool: {params.get('name')}")
        words = (params.get("arguments") or {}).get("message", "")
        shown = words if isinstance(words, str) else json.dumps(words)
        return {"content": [{"type": "text", "text": shown}]}
    if method == "tools/list":
        return {"tools": TOOLS}
    if method == "ping":
        return {}
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in LEGACY else LEGACY[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "echo", "version": "1.0.0"},
        }
    raise RefusalError(-32601, f"Unknown method: {method}")


def _reply(message: dict[str, Any]) -> dict[str, Any]:
    try:
        result = _answer(message["method"], message.get("params") or {})
    except RefusalError as no:
        error = {"code": no.code, "message": no.message}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _loop() -> int:
    """Answer line by line, as long as there are lines."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "id" in message and "method" in message:
            os.write(1, json.dumps(_reply(message)).encode() + b"\n")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="Echo server")
    parser.add_argument(
        "--delay", type=float, default=0.0, help="seconds before a call is answered"
    )
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args(arguments)

    async def app(call: Call) -> Any:
        if call.id is None:
            return None
        if call.method == "tools/call":
            import asyncio  # noqa: PLC0415 - not for the loop, which is started most often

            await asyncio.sleep(options.delay)
        return _answer(call.method, call.params)

    if options.http is not None:
        from tests.tool_servers.webwires import serve_http  # noqa: PLC0415 - as above

        return serve_http(app, options.http)
    return serve_stdio(app) if options.delay else _loop()


if __name__ == "__main__":
    sys.exit(main())

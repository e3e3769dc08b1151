"""A server that makes a task of every call that asks for one, numbers them from one, and tells everybody how each stands.

python tests/tool_servers/worker.py [--http PORT]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.webwires import serve_http
from tests.tool_servers.wires import Call, RefusalError, serve_stdio

__all__ = ["app", "main"]

STATUS = "notifications/tasks/status"
TASKS: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}

made: dict[str, dict[str, Any]] = {}


async def _task(call: Call) -> Any:
    name = call.params.get("taskId")
    if name not in made:
        raise RefusalError(-32602, "no such task")
    said = {**made[name], "statusMessage": f"private word about {name}"}
    await call.notify(STATUS, said)
    if call.method == "tasks/result":
        return {"content": [{"type": "text", "text": f"private result of {name}"}]}
    return said


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    if call.method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "tasks": TASKS},
            "serverInfo": {"name": "worker", "version": "1"},
        }
    if call.method == "tools/list":
        return {"tools": [{"name": "work", "inputSchema": {"type": "object"}}]}
    if call.method == "tools/call":
        name = f"T-{len(made) + 1}"
        made[name] = {
            "taskId": name,
            "status": "working",
            "createdAt": "2026-01-01T00:00:00Z",
            "ttl": 600_000,
        }
        return {"task": made[name]}
    if call.method == "tasks/list":
        return {"tasks": list(made.values())}
    if call.method.startswith("tasks/"):
        return await _task(call)
    raise RefusalError(-32601, f"Unknown method: {call.method}")


def main(arguments: list[str] | None = None) -> int:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="A server that makes tasks")
    parser.add_argument("--http", type=int, metavar="PORT")
    options = parser.parse_args(arguments)
    return serve_stdio(app) if options.http is None else serve_http(app, options.http)


if __name__ == "__main__":
    sys.exit(main())

"""An MCP server over stdio that sends what it is told to: `result` a named result, `flood` thousands of messages, `again` and
`resources` another list of tools or resources, `error` a large error, `leave` ends it. All other tools answer `ok`.

    python benchmarks/hostile/server.py [--wishes SCHEME]

With a scheme it has a template for resources of it, which can be subscribed to.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

if __package__ in {None, ""}:  # started as a file, as a gateway starts its children
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.hostile.arguments import TOOLS
from benchmarks.hostile.results import (
    LARGE,
    definitions,
    events,
    made,
    of_task,
    resources_of,
    tools_of,
)

__all__ = ["main"]

_REVISION = "2025-11-25"
_LISTS = {"resources": "resources", "templates": "resourceTemplates", "prompts": "prompts"}
"""Tool → the member of the list that it changes."""
_PLAIN = ("tasked", "mute", "echo", "result", "flood", "again", "error", *_LISTS)
_AT_DOORS = ("held", "asked", "leave")
"""Offered beside templates alone: those for whose calls somebody is asked, and the one that ends the server."""
_BATCH = 500


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _frame(ident: Any, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (json.dumps(ident).encode(), result)


class _Server:
    def __init__(self, scheme: str = "") -> None:
        self._more: list[dict[str, Any]] = []
        self._task = "rows", 0, ""
        """What is said of whatever task is asked about: of which kind, how many bytes, and its name."""
        self._tasks = 0
        self._listed: dict[str, list[dict[str, Any]]] = {}
        if scheme:
            template = {"uriTemplate": f"{scheme}://{{+x}}", "name": "a"}
            self._listed["resourceTemplates"] = [template]
        names = (*_PLAIN, *TOOLS, *(_AT_DOORS if scheme else ()))
        self._tools = [{"name": one, "inputSchema": {"type": "object"}} for one in names]
        self._tools += definitions()

    def answer(self, message: dict[str, Any]) -> None:
        method, ident = message.get("method"), message.get("id")
        named = (message.get("params") or {}).get("name")
        if ident is None or method is None or named == "mute":
            return
        if method == "initialize":
            offers = {
                "tools": {"listChanged": True},
                "logging": {},
                "resources": {"subscribe": True, "listChanged": True},
                "prompts": {"listChanged": True},
                "tasks": {"list": {}, "requests": {"tools": {"call": {}}}},
            }
            about = {"serverInfo": {"name": "hostile", "version": "1"}, "capabilities": offers}
            self._say(ident, {"protocolVersion": _REVISION, **about})
        elif method == "tools/list":
            self._say(ident, {"tools": [*self._tools, *self._more]})
        elif method.startswith("tasks/"):
            kind, size, name = self._task
            _write(_frame(ident, of_task(kind, name, size)))
        elif method.endswith("/list"):
            member = "resourceTemplates" if "templates" in method else method.partition("/")[0]
            self._say(ident, {member: self._listed.get(member, [])})
        elif method == "tools/call" and message["params"]["name"] == "leave":
            raise SystemExit
        elif method == "tools/call":
            self._call(ident, message["params"])
        else:
            self._say(ident, {})

    def _call(self, ident: Any, params: dict[str, Any]) -> None:
        asked = params.get("arguments") or {}
        kind, size = asked.get("kind", ""), asked.get("size", 0)
        if params["name"] == "result":
            _write(_frame(ident, made(kind, size)))
            return
        if params["name"] == "tasked":
            self._made(ident, kind, size)
            return
        if params["name"] == "flood":
            token = (params.get("_meta") or {}).get("progressToken", 0)
            batch = 1 if kind in LARGE else _BATCH
            for start in range(0, size, batch):
                _write(b"".join(events(kind, one, token) for one in range(start, start + batch)))
        elif params["name"] == "again":
            self._more = tools_of(kind, size) if size else []
            _write(b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n')
        elif params["name"] in _LISTS:
            self._listed[_LISTS[params["name"]]] = resources_of(kind, size) if size else []
            changed = b"prompts" if params["name"] == "prompts" else b"resources"
            _write(b'{"jsonrpc":"2.0","method":"notifications/%b/list_changed"}\n' % changed)
        elif params["name"] == "error":
            data = [{"a": 1}] * (size // 8) if kind == "rows" else "token: a " * (size // 9)
            error = {"code": -32000, "message": "no", "data": {"said": data}}
            _write(json.dumps({"jsonrpc": "2.0", "id": ident, "error": error}).encode() + b"\n")
            return
        self._say(ident, {"content": [{"type": "text", "text": "ok"}]})

    def _made(self, ident: Any, kind: str, size: int) -> None:
        """A task of that kind; it is told at length where the order says so."""
        self._tasks += 1
        name = f"T-{self._tasks}"
        short = kind.removeprefix("made_")
        self._task = short, size, name
        said = b'"working"' if short == kind else of_task(short, name, size)
        task = b'{"taskId":"%b","status":"working","ttl":60000,"x":%b}' % (name.encode(), said)
        _write(_frame(ident, b'{"task":%b}' % task))

    def _say(self, ident: Any, result: Any) -> None:
        said = {"jsonrpc": "2.0", "id": ident, "result": result}
        _write(json.dumps(said, separators=(",", ":")).encode() + b"\n")


def main() -> int:
    """Serve until the gateway hangs up."""
    server = _Server(sys.argv[2] if sys.argv[1:2] == ["--wishes"] else "")
    for line in sys.stdin.buffer:
        server.answer(json.loads(line))
    return 0


if __name__ == "__main__":
    sys.exit(main())

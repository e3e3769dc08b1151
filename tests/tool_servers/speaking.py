"""A server that says what it is told to say, message by message, and writes down all that it gets.

    python tests/tool_servers/speaking.py LOG [REVISION] [EXTENSION,…]

Its tools: `say` sends the messages in its argument `said` before it answers, `hold` never answers, `ask` puts a question to its caller and
answers what came of that. In a text `$ID` stands for the id of the call that is answered, `$HELD` for that of the call that `hold` holds
for the key in the argument `other`. Tasks are numbered from one. Every message is a line of LOG.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

META = "io.modelcontextprotocol/"
MODERN = "2026-07-28"
TASKS: dict[str, Any] = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "logging": {},
    "completions": {},
    "tasks": TASKS,
}


class Speaking:
    """One connection."""

    def __init__(self, revision: str, extensions: list[str]) -> None:
        self._revision = revision
        self._can: dict[str, Any] = CAPABILITIES
        if extensions:
            self._can = {**CAPABILITIES, "mgp": {"version": "0.2.0", "extensions": extensions}}
        self._held: dict[str, Any] = {}
        self._asking: dict[Any, Any] = {}
        self._tasks: dict[str, dict[str, Any]] = {}

    def take(self, said: dict[str, Any]) -> list[dict[str, Any]]:
        """What is said because of one message."""
        method, ident, params = said.get("method"), said.get("id"), said.get("params") or {}
        if method is None:
            call = self._asking.pop(ident, None)
            return [] if call is None else [_text(call, json.dumps(said))]
        if ident is None:
            return []
        if method == "tools/call":
            return self._call(ident, params)
        if method.startswith("tasks/"):
            return [self._task(ident, method, params)]
        if method == "subscriptions/listen":
            tag = {"_meta": {f"{META}subscriptionId": ident}}
            return [{"method": "notifications/subscriptions/acknowledged", "params": tag}]
        return [{"id": ident, "result": self._result(method)}]

    def _result(self, method: str) -> dict[str, Any]:
        if method == "server/discover":
            hello = {"supportedVersions": [self._revision], "capabilities": self._can}
            return {**hello, "_meta": {f"{META}serverInfo": {"name": "speaking", "version": "1"}}}
        if method == "initialize":
            hello = {"protocolVersion": self._revision, "capabilities": self._can}
            return {**hello, "serverInfo": {"name": "speaking", "version": "1"}}
        if method == "tools/list":
            schema, run = {"type": "object"}, {"taskSupport": "optional"}
            names = ("say", "hold", "ask")
            return {"tools": [{"name": n, "inputSchema": schema, "execution": run} for n in names]}
        if method == "resources/list":
            return {"resources": [{"uri": f"speak://{n}", "name": n} for n in ("ann", "bob")]}
        return {"contents": [], "prompts": [], "resourceTemplates": [], "messages": []}

    def _call(self, ident: Any, params: dict[str, Any]) -> list[dict[str, Any]]:
        words, name = params.get("arguments") or {}, params.get("name")
        if "task" in params:
            task = f"T-{len(self._tasks) + 1}"
            self._tasks[task] = _about(task)
            return [{"id": ident, "result": {"task": self._tasks[task]}}]
        if name == "hold":
            self._held[str(words.get("key"))] = ident
            return []
        if name == "ask":
            self._asking[words["id"]] = ident
            return [{"id": words["id"], "method": words["method"], "params": words["params"]}]
        held = self._held.get(str(words.get("other")), 0)
        text = json.dumps(words.get("said", []))
        text = text.replace('"$ID"', json.dumps(ident)).replace('"$HELD"', json.dumps(held))
        return [*json.loads(text), _text(ident, "said")]

    def _task(self, ident: Any, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "tasks/list":
            return {"id": ident, "result": {"tasks": list(self._tasks.values())}}
        found = self._tasks.get(str(params.get("taskId")))
        if found is None:
            return {"id": ident, "error": {"code": -32602, "message": "no such task"}}
        return {"id": ident, "result": found}


def _about(task: str) -> dict[str, Any]:
    when = "2026-01-01T00:00:00Z"
    return {"taskId": task, "status": "working", "createdAt": when, "ttl": 600_000}


def _text(ident: Any, text: str) -> dict[str, Any]:
    return {"id": ident, "result": {"content": [{"type": "text", "text": text}]}}


def main(log: str, revision: str = "2025-11-25", extensions: str = "") -> int:
    """Serve over standard input and output until that ends."""
    one = Speaking(revision, extensions.split(",") if extensions else [])
    with Path(log).open("a", buffering=1) as out:
        for line in sys.stdin:
            said = json.loads(line)
            out.write(json.dumps(said) + "\n")
            if said.get("method") == "server/discover" and revision != MODERN:
                old = {"code": -32601, "message": "an old server"}
                answers = [{"id": said["id"], "error": old}]
            else:
                answers = one.take(said)
            for answer in answers:
                if revision == MODERN and "result" in answer:
                    answer["result"] = {"resultType": "complete", **answer["result"]}
                sys.stdout.write(json.dumps({"jsonrpc": "2.0", **answer}) + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

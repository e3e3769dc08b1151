"""A stdio server without any library that does what its caller says: answers now, late, never, twice, with a question, a log line, an error or a flood.

Each tool call has `text`, and how it is to be answered (`how`). `tools` beside it is what the server offers from then on.
"""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OUT = threading.Lock()
OFFERED: dict[str, str] = {"tell": "Tells.", "other": "Tells as well."}
ASKED: dict[str, Any] = {}


def say(message: dict[str, Any]) -> None:
    """One line."""
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(ident: Any, text: str, **more: Any) -> None:
    """A plain result."""
    say({"id": ident, "result": {"content": [{"type": "text", "text": text}], **more}})


def called(ident: Any, arguments: dict[str, Any]) -> None:
    """Do as told."""
    text, how = arguments["text"], arguments.get("how", "plain")
    if how == "plain":
        result(ident, text)
    elif how == "late":
        threading.Timer(0.15, result, (ident, text)).start()
    elif how == "twice":
        result(ident, text)
        result(ident, "again")
    elif how == "log":
        say({"method": "notifications/message", "params": {"level": "error", "data": text}})
        result(ident, text)
    elif how == "ask":
        ASKED["q"] = ident, text
        schema = {"type": "object", "properties": {"a": {"type": "string"}}}
        params = {"message": "which?", "requestedSchema": schema}
        say({"id": "q", "method": "elicitation/create", "params": params})
    elif how == "error":
        say({"id": ident, "error": {"code": -32000, "message": text}})
    elif how == "failed":
        result(ident, text, isError=True)
    elif how == "long":
        result(ident, text * 40_000)
    elif how == "offers":
        OFFERED["tell"] = text
        say({"method": "notifications/tools/list_changed"})
        result(ident, text)
    elif how == "leaves":
        sys.exit(3)


def take(message: dict[str, Any]) -> None:
    """Answer one message."""
    ident, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if method == "initialize":
        info = {"name": "obedient", "version": "1"}
        can = {"tools": {"listChanged": True}, "logging": {}}
        asked = params["protocolVersion"]
        version = asked if asked.startswith("2025") else "2025-11-25"
        said = {"protocolVersion": version, "capabilities": can, "serverInfo": info}
        say({"id": ident, "result": said})
    elif method == "tools/list":
        listed = [
            {"name": name, "description": text, "inputSchema": SCHEMA}
            for name, text in OFFERED.items()
        ]
        say({"id": ident, "result": {"tools": listed}})
    elif method == "tools/call":
        called(ident, params["arguments"])
    elif method is None and ident == "q":
        asked, text = ASKED.pop("q")
        result(asked, f"{text} {json.dumps(message.get('result'))}")
    elif ident is not None and method is not None:
        say({"id": ident, "error": {"code": -32601, "message": "Method not found"}})


def main() -> None:
    """Until the input ends."""
    for line in sys.stdin:
        take(json.loads(line))


if __name__ == "__main__":
    main()

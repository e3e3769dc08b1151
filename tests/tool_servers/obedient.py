"""A stdio server without any library that does what its caller says: answers now, late, never, twice, with a question, a log line, an error or a flood.

Each tool call has `text`, and how it is to be answered (`how`). `tools` beside it is what the server offers from then on.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
OUT = threading.Lock()
OFFERED: dict[str, str] = {"tell": "Tells.", "other": "Tells as well.", "shaped": "Promises."}
PROMISED = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
ASKED: dict[str, Any] = {}


def say(message: dict[str, Any]) -> None:
    """One line."""
    with OUT:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def result(ident: Any, text: str, **more: Any) -> None:
    """A plain result."""
    say({"id": ident, "result": {"content": [{"type": "text", "text": text}], **more}})


def late(ident: Any, text: str) -> None:
    threading.Timer(0.15, result, (ident, text)).start()


def twice(ident: Any, text: str) -> None:
    result(ident, text)
    result(ident, "again")


def log(ident: Any, text: str) -> None:
    say({"method": "notifications/message", "params": {"level": "error", "data": text}})
    result(ident, text)


def chatty(ident: Any, text: str) -> None:
    say({"id": "p", "method": "ping"})
    say({"method": "notifications/progress", "params": {"progressToken": 16, "progress": 1}})
    say({"method": "notifications/message", "params": {"level": "error", "data": text}})
    say({"method": "notifications/resources/list_changed"})
    result(ident, text)


def ask(ident: Any, text: str) -> None:
    ASKED["q"] = ident, text
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    params = {"message": "which?", "requestedSchema": schema}
    say({"id": "q", "method": "elicitation/create", "params": params})


def error(ident: Any, text: str) -> None:
    say({"id": ident, "error": {"code": -32000, "message": text}})


def offers(ident: Any, text: str) -> None:
    OFFERED["tell"] = text
    say({"method": "notifications/tools/list_changed"})
    result(ident, text)


def raw(ident: Any, text: str) -> None:
    """These very lines, with the call's number for `$ID` and that of nobody's call for `$NEXT`, and a plain result."""
    with OUT:
        sys.stdout.write(text.replace("$ID", str(ident)).replace("$NEXT", str(ident + 1)) + "\n")
        sys.stdout.flush()
    result(ident, "end")


DOES: dict[str, Callable[[Any, str], object]] = {
    "plain": result,
    "late": late,
    "twice": twice,
    "chatty": chatty,
    "fits": partial(result, structuredContent={"n": 1}),
    "misfits": partial(result, structuredContent={"n": "one"}),
    "log": log,
    "ask": ask,
    "error": error,
    "failed": partial(result, isError=True),
    "long": lambda ident, text: result(ident, text * 40_000),
    "offers": offers,
    "raw": raw,
    "never": lambda ident, text: None,
    "leaves": lambda ident, text: sys.exit(3),
}


def called(ident: Any, arguments: dict[str, Any]) -> None:
    """Do as told."""
    DOES[arguments.get("how", "plain")](ident, arguments["text"])


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
            {
                "name": name,
                "description": text,
                "inputSchema": SCHEMA,
                **({"outputSchema": PROMISED} if name == "shaped" else {}),
            }
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

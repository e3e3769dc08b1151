"""A server that says what it is told to: its lists and its handshake by a JSON file, the rest by the arguments of its tool `say`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SAY = {"name": "say", "inputSchema": {"type": "object"}}


def write(**message: Any) -> None:
    """Send one message."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def main() -> None:
    """Answer until standard input ends."""
    told: dict[str, Any] = json.loads(Path(sys.argv[1]).read_text()) if len(sys.argv) > 1 else {}
    sections = ("tools", "prompts", "resources", "resourceTemplates")
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}, "prompts": {}, "resources": {}, "logging": {}},
        "serverInfo": {"name": "saying", "version": "1"},
        **told.get("hello", {}),
    }
    results: dict[str, Any] = {
        "initialize": hello,
        "logging/setLevel": {},
        "tools/list": {"tools": [{**SAY, **told.get("say", {})}]},
        **{
            f"{one.replace('resourceTemplates', 'resources/templates')}/list": {one: told[one]}
            for one in sections
            if one in told
        },
        **told.get("results", {}),
    }
    held: dict[str, Any] = {}
    for line in sys.stdin:
        message = json.loads(line)
        method, ident = message.get("method"), message.get("id")
        if method is None:
            content = {"content": [{"type": "text", "text": json.dumps(message)}]}
            write(id=held.pop("id"), result=content)
        elif ident is None:
            continue
        elif method == "tools/call":
            given = message["params"]["arguments"]
            for one in given.get("first", ()):
                write(**one)
            if "ask" in given:
                held["id"] = ident
                write(id="q", **given["ask"])
            else:
                write(id=ident, **given.get("end", {"result": {"content": []}}))
        elif method in results:
            write(id=ident, result=results[method])
        else:
            write(id=ident, error={"code": -32601, "message": "no such method"})


if __name__ == "__main__":
    main()

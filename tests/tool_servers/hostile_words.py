"""An MCP server over stdio that says hostile texts wherever a server may say something: names, descriptions, schemas, results, stderr.

`python hostile_words.py FILE`: a JSON list of texts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

_DESCRIPTION = 4_000
"""Characters: more of it in all would be a list that no gateway takes."""


def _tools(texts: list[str]) -> list[dict[str, Any]]:
    """One tool for each text: it is the description, and all that a schema may say."""
    texts = [one[:_DESCRIPTION] for one in texts]
    return [
        {
            "name": f"tool{number}",
            "title": text,
            "description": text,
            "inputSchema": {
                "type": "object",
                "title": text,
                "description": text,
                "properties": {
                    "a": {"type": "string", "description": text, "enum": [text], "default": text},
                    text[:200]: {"type": "string", "title": text},
                },
            },
            "annotations": {"title": text},
        }
        for number, text in enumerate(texts)
    ] + [{"name": text[:120], "inputSchema": {"type": "object"}} for text in texts[:40]]


def _answer(message: dict[str, Any], texts: list[str]) -> dict[str, Any] | None:
    method = message.get("method")
    if "id" not in message:
        return None
    if method == "initialize":
        said: Any = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": texts[0], "version": texts[1], "title": texts[2]},
            "instructions": texts[3],
        }
    elif method == "tools/list":
        said = {"tools": _tools(texts)}
    elif method == "tools/call":
        at = int(str(message["params"]["name"]).removeprefix("tool"))
        if at % 2:
            error = {"code": -32000, "message": texts[at], "data": texts[at]}
            return {"jsonrpc": "2.0", "id": message["id"], "error": error}
        said = {"content": [{"type": "text", "text": texts[at]}], "isError": at % 4 == 0}
    else:
        said = {}
    return {"jsonrpc": "2.0", "id": message["id"], "result": said}


def main() -> None:
    """Answer until the input ends."""
    said: list[str] = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # What is no Unicode is no JSON: a gateway would take the whole list for none.
    texts = [one.encode("utf-8", "replace").decode() for one in said]
    for text in texts:
        sys.stderr.buffer.write(text.encode() + b"\n")
    sys.stderr.flush()
    for line in sys.stdin:
        answer = _answer(json.loads(line), texts)
        if answer is not None:
            sys.stdout.write(json.dumps(answer) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()

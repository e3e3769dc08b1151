#!/usr/bin/env python3
"""A small MCP server to try Gatewright with: standard input and output, standard library only.

It keeps a few notes in memory. Run by `examples/mgp.toml`; any Python from 3.8 on will do.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Dict, cast  # noqa: UP035 - Python 3.8

__all__ = ["main"]

Json = Dict[str, Any]  # noqa: UP006 - older Pythons start this file, too

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
NOTES = {
    "welcome": "Everything you call here is checked, and written down: gatewright audit tail",
    "ideas": "Put your own servers into mgp.toml, next to this one.",
}


def text_type(description: str) -> Json:
    """The schema of a text."""
    return {"type": "string", "description": description}


TOOLS: list[Json] = [
    {
        "name": "echo",
        "description": "Say the text again.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": text_type("What to say.")},
            "required": ["text"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "add",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {
                "a": {"type": "number", "description": "The first number."},
                "b": {"type": "number", "description": "The second number."},
            },
            "required": ["a", "b"],
        },
        "outputSchema": {
            "type": "object",
            "properties": {"sum": {"type": "number"}},
            "required": ["sum"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "now",
        "description": "Tell the date and time.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "count",
        "description": "Count to a number, a step each tenth of a second, reporting progress.",
        "inputSchema": {
            "type": "object",
            "properties": {"to": {"type": "integer", "minimum": 1, "maximum": 50}},
            "required": ["to"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "list_notes",
        "description": "List the names of the notes.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "read_note",
        "description": "Read one note.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": text_type("Its name.")},
            "required": ["name"],
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "write_note",
        "description": "Write a note, or replace it.",
        "inputSchema": {
            "type": "object",
            "properties": {"name": text_type("Its name."), "text": text_type("What it says.")},
            "required": ["name", "text"],
        },
    },
    {
        "name": "delete_all_notes",
        "description": "Throw every note away.",
        "inputSchema": {"type": "object", "properties": {}},
        "annotations": {"destructiveHint": True},
    },
]


def send(message: Json) -> None:
    """One line on standard output."""
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def said(text: str, **more: Any) -> Json:
    """The result of a tool that says `text`."""
    return {"content": [{"type": "text", "text": text}], **more}


def add(arguments: Json, _meta: Json) -> Json:
    """Add two numbers."""
    total = arguments["a"] + arguments["b"]
    return said(str(total), structuredContent={"sum": total})


def count(arguments: Json, meta: Json) -> Json:
    """Count, with a notification for each step."""
    token = meta.get("progressToken")
    for step in range(1, arguments["to"] + 1):
        time.sleep(0.1)
        if token is not None:
            progress = {"progressToken": token, "progress": step, "total": arguments["to"]}
            send({"method": "notifications/progress", "params": progress})
    return said(f"counted to {arguments['to']}")


def read_note(arguments: Json, _meta: Json) -> Json:
    """Read one note."""
    if arguments["name"] not in NOTES:
        return said(f"there is no note {arguments['name']!r}", isError=True)
    return said(NOTES[arguments["name"]])


def write_note(arguments: Json, _meta: Json) -> Json:
    """Write one note."""
    NOTES[arguments["name"]] = arguments["text"]
    return said("written")


def delete_all_notes(_arguments: Json, _meta: Json) -> Json:
    """Forget everything."""
    NOTES.clear()
    return said("gone")


HANDLERS: dict[str, Callable[[Json, Json], Json]] = {
    "echo": lambda arguments, _meta: said(arguments["text"]),
    "add": add,
    "now": lambda _arguments, _meta: said(datetime.now(timezone.utc).isoformat()),  # noqa: UP017
    "count": count,
    "list_notes": lambda _arguments, _meta: said("\n".join(sorted(NOTES))),
    "read_note": read_note,
    "write_note": write_note,
    "delete_all_notes": delete_all_notes,
}


def initialize(params: Json) -> Json:
    """The handshake."""
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}, "resources": {}, "prompts": {}},
        "serverInfo": {"name": "demo", "version": "1.0.0"},
        "instructions": "A notebook to try things with.",
    }


def call(params: Json) -> Json:
    """Call one tool."""
    handler = HANDLERS.get(str(params.get("name")))
    if handler is None:
        raise LookupError(f"no tool {params.get('name')!r}")
    try:
        return handler(params.get("arguments") or {}, params.get("_meta") or {})
    except (KeyError, TypeError) as problem:
        return said(f"wrong arguments: {problem!r}", isError=True)


def list_resources(_params: Json) -> Json:
    """Every note is a resource."""
    return {
        "resources": [
            {"uri": "note:///" + name, "name": name, "mimeType": "text/plain"}
            for name in sorted(NOTES)
        ]
    }


def read_resource(params: Json) -> Json:
    """Read one note as a resource."""
    uri = str(params.get("uri"))
    name = uri[len("note:///") :]
    if not uri.startswith("note:///") or name not in NOTES:
        raise LookupError(f"no resource {uri}")
    return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": NOTES[name]}]}


def get_prompt(params: Json) -> Json:
    """The only prompt."""
    if params.get("name") != "summarise":
        raise LookupError(f"no prompt {params.get('name')!r}")
    text = "Summarise these notes:\n" + "\n".join(NOTES.values())
    return {"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}


METHODS: dict[str, Callable[[Json], Json]] = {
    "initialize": initialize,
    "ping": lambda _params: {},
    "tools/list": lambda _params: {"tools": TOOLS},
    "tools/call": call,
    "resources/list": list_resources,
    "resources/templates/list": lambda _params: {
        "resourceTemplates": [{"uriTemplate": "note:///{name}", "name": "note"}]
    },
    "resources/read": read_resource,
    "prompts/list": lambda _params: {
        "prompts": [{"name": "summarise", "description": "Summarise all notes."}]
    },
    "prompts/get": get_prompt,
}


def answer(message: Json) -> Json:
    """The members of the answer besides `jsonrpc` and `id`."""
    method = METHODS.get(str(message.get("method")))
    if method is None:
        return {"error": {"code": -32601, "message": "method not found"}}
    try:
        return {"result": method(message.get("params") or {})}
    except LookupError as problem:
        return {"error": {"code": -32602, "message": str(problem)}}


def main() -> None:
    """Answer until standard input ends."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            send({"id": None, "error": {"code": -32700, "message": "not JSON"}})
            continue
        if isinstance(message, dict) and "id" in message and "method" in message:
            send({"id": message["id"], **answer(cast("Json", message))})


if __name__ == "__main__":
    main()

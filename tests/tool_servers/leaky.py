"""A server that gives away everything it is told, on every way that there is back.

    python tests/tool_servers/leaky.py FILE

The text of FILE stands in its instructions, in the description of each tool, and on its standard error when it starts.
Each tool takes `text` and gives it back in its own way; `keep` keeps it for what resources, prompts and
completions say. So a test can plant something and look for where it comes out.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import LEGACY, Call, RefusalError, serve_stdio

__all__ = ["KEPT", "TOOLS", "app", "main"]

KEPT = "leak:///kept"
TOOLS = (
    "say",
    "structure",
    "embed",
    "blob",
    "encode",
    "quote",
    "fail_as_result",
    "fail_in_message",
    "fail_in_data",
    "progress",
    "log",
    "notify",
    "complain",
    "keep",
    "meta",
)
_planted: list[str] = [""]
_kept: list[str] = [""]


def _content(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


def _resource(**more: Any) -> dict[str, Any]:
    resource = {"uri": KEPT, "mimeType": "text/plain", **more}
    return {"content": [{"type": "resource", "resource": resource}]}


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_ANSWERS: dict[str, Callable[[str], dict[str, Any]]] = {
    "say": _content,
    "structure": lambda text: _content("", structuredContent={"lines": text.splitlines(), text: 1}),
    "embed": lambda text: _resource(text=text),
    "blob": lambda text: _resource(blob=_base64(text)),
    "encode": lambda text: _content(f"in base64: {_base64(text)}"),
    "quote": lambda text: _content(json.dumps({"deep": json.dumps({"text": text})})),
    "fail_as_result": lambda text: _content(text, isError=True),
    "meta": lambda text: _content("", _meta={"vendor/text": text}),
}


async def _tell(call: Call, name: str, text: str) -> None:
    token = (call.params.get("_meta") or {}).get("progressToken")
    if name == "progress":
        told = {"progressToken": token, "progress": 1, "message": text}
        await call.notify("notifications/progress", told)
    elif name == "log":
        await call.notify("notifications/message", {"level": "error", "data": {"text": text}})
    elif name == "notify":
        await call.notify("notifications/vendor.news", {"news": [text]})
    elif name == "complain":
        sys.stderr.write(text + "\n")
        sys.stderr.flush()


async def _call_tool(call: Call) -> Any:
    name, text = call.params.get("name"), call.params.get("arguments", {}).get("text", "")
    if name in _ANSWERS:
        return _ANSWERS[name](text)
    if name == "fail_in_message":
        raise RefusalError(-32000, text)
    if name == "fail_in_data":
        raise RefusalError(-32000, "no", {"text": text})
    if name == "keep":
        _kept[0] = text
    await _tell(call, str(name), text)
    return _content("done")


def _tool(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "description": f"Gives away what it is told.\n{_planted[0]}",
        "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
    }


def _hello(call: Call) -> dict[str, Any]:
    asked = call.params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in LEGACY else LEGACY[-1],
        "capabilities": {
            name: {} for name in ("tools", "resources", "prompts", "logging", "completions")
        },
        "serverInfo": {"name": "leaky", "version": "1"},
        "instructions": _planted[0],
    }


async def app(call: Call) -> Any:
    """Answer one message."""
    if call.id is None:
        return None
    if call.method == "initialize":
        return _hello(call)
    if call.method == "tools/call":
        return await _call_tool(call)
    said = {"role": "user", "content": {"type": "text", "text": _kept[0]}}
    answers: dict[str, dict[str, Any]] = {
        "ping": {},
        "logging/setLevel": {},
        "tools/list": {"tools": [_tool(name) for name in TOOLS]},
        "resources/list": {"resources": [{"uri": KEPT, "name": "kept"}]},
        "resources/read": {"contents": [{"uri": KEPT, "text": _kept[0]}]},
        "prompts/list": {"prompts": [{"name": "kept", "arguments": [{"name": "x"}]}]},
        "prompts/get": {"description": _kept[0], "messages": [said]},
        "completion/complete": {"completion": {"values": _kept[0].splitlines()}},
    }
    if call.method not in answers:
        raise RefusalError(-32601, f"Unknown method: {call.method}")
    return answers[call.method]


def main(arguments: list[str]) -> int:
    """Serve what the file says."""
    _planted[0] = Path(arguments[0]).read_text()
    sys.stderr.write(_planted[0] + "\n")
    sys.stderr.flush()
    return serve_stdio(app)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

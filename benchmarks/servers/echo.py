"""What the echo servers answer, whatever carries the bytes: MCP 2025-11-25 and 2026-07-28.

One JSON text in, one JSON text out, with the least work between: a typed decode of the few members
that matter and an answer put together from prepared pieces. Tools: `echo` gives its `text` back,
`sleep` does so after `seconds`. More tools can be asked for to make the list long; they echo too.
"""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["LEGACY", "MODERN", "Echo", "Later", "Params", "Request"]

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

Later = tuple[float, bytes]
"""An answer that is due only after so many seconds."""


class Meta(msgspec.Struct):
    """The one key of `_meta` that says which era a request belongs to."""

    version: str | None = msgspec.field(
        name="io.modelcontextprotocol/protocolVersion", default=None
    )


class Arguments(msgspec.Struct):
    """What the tools take."""

    text: str = ""
    seconds: float = 0.0


class Params(msgspec.Struct):
    """The members of `params` that any answer depends on."""

    name: str = ""
    arguments: Arguments = msgspec.field(default_factory=Arguments)
    meta: Meta | None = msgspec.field(name="_meta", default=None)


class Request(msgspec.Struct):
    """A request, a notification (no id) or a stranger's answer (no method)."""

    method: str = ""
    id: msgspec.Raw = msgspec.Raw()  # empty where there is none
    params: Params = msgspec.field(default_factory=Params)


_CALL = b'{"jsonrpc":"2.0","id":%b,"result":{"content":[{"type":"text","text":%b}]%b}}'
_RESULT = b'{"jsonrpc":"2.0","id":%b,"result":%b}'
_ERROR = b'{"jsonrpc":"2.0","id":%b,"error":{"code":%d,"message":%b}}'
_COMPLETE = b',"resultType":"complete"'


def _tool(name: str) -> dict[str, Any]:
    text = {"type": "string", "description": "What to give back."}
    seconds = {"type": "number", "description": "How long to wait first."}
    return {
        "name": name,
        "description": f"{name}: gives the text back that it was called with.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": text, "seconds": seconds},
            "required": ["text"],
        },
    }


class Echo:
    """Answers for one server. `era` is what it speaks: "legacy", "modern" or "both"; `tools` is how
    many tools its list has in all, at least two; `revision` is what it says to clients of the legacy era."""

    def __init__(self, era: str = "both", tools: int = 2, revision: str = LEGACY) -> None:
        self._legacy = era != "modern"
        self._modern = era != "legacy"
        self._decode = msgspec.json.Decoder(Request).decode
        self._encode = msgspec.json.Encoder().encode
        names = ["echo", "sleep", *(f"echo_{number:05}" for number in range(2, tools))]
        listed = {"tools": [_tool(name) for name in names]}
        cached = {"resultType": "complete", "ttlMs": 60_000, "cacheScope": "public"}
        about = {"capabilities": {"tools": {}}, "instructions": "Echoes."}
        info = {"name": "benchmark-echo", "version": "1"}
        self._legacy_results = {
            "initialize": self._encode({"protocolVersion": revision, "serverInfo": info} | about),
            "tools/list": self._encode(listed),
            "ping": b"{}",
        }
        versions = {"supportedVersions": [MODERN], "serverInfo": info}
        signed = {"_meta": {"io.modelcontextprotocol/serverInfo": info}}
        self._modern_results = {
            "server/discover": self._encode(versions | about | cached | signed),
            "tools/list": self._encode(listed | cached),
        }

    def answer(self, message: bytes) -> bytes | Later | None:
        """The answer to one message; None where there is none. Raises `msgspec.MsgspecError`."""
        request = self._decode(message)
        if not request.method or not bytes(request.id):
            return None
        meta = request.params.meta
        modern = meta is not None and meta.version is not None
        if not (self._modern if modern else self._legacy):
            return _ERROR % (request.id, -32601, b'"no such method"')
        if request.method == "tools/call":
            return self._call(request, modern)
        results = self._modern_results if modern else self._legacy_results
        result = results.get(request.method)
        if result is None:
            return _ERROR % (request.id, -32601, b'"no such method"')
        return _RESULT % (request.id, result)

    def _call(self, request: Request, modern: bool) -> bytes | Later:
        asked = request.params.arguments
        text = self._encode(asked.text)
        reply = _CALL % (request.id, text, _COMPLETE if modern else b"")
        if request.params.name == "sleep":
            return asked.seconds, reply
        return reply

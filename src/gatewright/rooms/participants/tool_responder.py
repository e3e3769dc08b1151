"""`Tools`: MCP responder of a room participant: offers Python functions with schemas as tools; answers `initialize`, `ping`, `tools/*`.

This is the least that MCP asks of a server: `initialize`, `ping`, `tools/list` and `tools/call`. Whoever has more to offer
gives a participant another responder, for example `bridge.ServerSeat`, which asks a server in a process of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import jsonschema_rs

from gatewright import __version__
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import answer_version
from gatewright.mcpx.envelope import Envelope

__all__ = ["ToolError", "Tools"]

log = logging.getLogger("gatewright.rooms.participants")

_MESSAGE_CHARS = 300

Function = Callable[..., Awaitable[Any]]


class ToolError(Exception):
    """What a tool answers instead of a result: a sentence for who asked."""


class Tools:
    """A responder (see `answering.Responder`). `name` is what the server calls itself."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._tools: dict[str, tuple[dict[str, Any], Function, Any]] = {}

    def offer(
        self,
        name: str,
        description: str,
        properties: dict[str, Any],
        function: Function,
        required: Sequence[str] = (),
    ) -> None:
        """Offer a tool. `function` is called with the sender and with the arguments by name; it raises `ToolError`."""
        schema = {
            "type": "object",
            "properties": properties,
            "required": list(required),
            "additionalProperties": False,
        }
        definition = {"name": name, "description": description, "inputSchema": schema}
        self._tools[name] = definition, function, jsonschema_rs.validator_for(schema)

    async def __call__(self, frame: bytes, envelope: Envelope) -> bytes | None:
        """Answer one JSON-RPC request."""
        message = jsonrpc.parse(frame)
        if not isinstance(message, jsonrpc.Request):
            return None
        params = jsonrpc.decode(message.params) if message.params else {}
        if message.method == "initialize":
            return jsonrpc.response(message.id, jsonrpc.encode(self._hello(params)))
        if message.method == "ping":
            return jsonrpc.response(message.id, b"{}")
        if message.method == "tools/list":
            listed = {"tools": [definition for definition, _, _ in self._tools.values()]}
            return jsonrpc.response(message.id, jsonrpc.encode(listed))
        if message.method == "tools/call":
            return await self._call(message.id, params, envelope.sender)
        return jsonrpc.error(message.id, (jsonrpc.METHOD_NOT_FOUND, f"no {message.method} here"))

    def _hello(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "protocolVersion": answer_version(params.get("protocolVersion")),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": self._name, "version": __version__},
        }

    async def _call(self, ident: bytes, params: dict[str, Any], sender: str) -> bytes:
        known = self._tools.get(str(params.get("name")))
        if known is None:
            names = ", ".join(self._tools)
            said = f"there is no tool {str(params.get('name'))[:128]!r}; there are {names}"
            return jsonrpc.error(ident, (jsonrpc.INVALID_PARAMS, said))
        _, function, validator = known
        arguments = params.get("arguments", {})
        flaw = next(validator.iter_errors(arguments), None)
        if flaw is not None:
            said = flaw.message[:_MESSAGE_CHARS]  # it repeats the value
            return jsonrpc.error(ident, (jsonrpc.INVALID_PARAMS, said))
        try:
            found = await function(sender, **arguments)
        except ToolError as problem:
            return _result(ident, str(problem), failed=True)
        structured = found if isinstance(found, dict) else {"result": found}
        return _result(ident, jsonrpc.encode(structured).decode(), structured=structured)


def _result(
    ident: bytes, text: str, *, failed: bool = False, structured: dict[str, Any] | None = None
) -> bytes:
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": failed}
    if structured is not None:
        result["structuredContent"] = structured
    return jsonrpc.response(ident, jsonrpc.encode(result))

"""Bounds what an MCP session keeps of `initialize`: rejects large capabilities, cuts a long `clientInfo` to name, title and version."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits, flaw_of

__all__ = ["kept_of", "too_much_kept"]

_KEPT_AS_IT_IS = 4096
"""Bytes of what a host says of itself that are kept for as long as its session, whatever they say."""
_CAPABILITIES_BYTES = 64 * 1024
_CAPABILITIES = Limits(depth=32, keys=1000, values=2000)
_OF_PROGRAMS = ("name", "title", "version")


def too_much_kept(params: bytes) -> str:
    """Why a session cannot keep what `initialize` says: there are a thousand for one caller. Empty where it can."""
    if len(params) <= _KEPT_AS_IT_IS:
        return ""
    said = bytes(jsonrpc.members_named(params, "capabilities").get("capabilities", b""))
    # What is no object is not kept at all (`mcp_server`).
    if said[:1] == b"{" and (len(said) > _CAPABILITIES_BYTES or flaw_of(said, _CAPABILITIES)):
        return (
            f"capabilities have more than {_CAPABILITIES_BYTES} bytes, {_CAPABILITIES.keys} members or "
            f"{_CAPABILITIES.values} values; declare what the client can do, and nothing else"
        )
    return ""


def kept_of(info: Any, size: int) -> Any:
    """What is kept of `clientInfo`: of a long one what it calls the program."""
    if size <= _KEPT_AS_IT_IS or not isinstance(info, dict):
        return info
    said = {name: info.get(name) for name in _OF_PROGRAMS}
    return {name: one[:_KEPT_AS_IT_IS] for name, one in said.items() if isinstance(one, str)}

"""The `fallback_tool` of a server's error in the caller's own names (MGP §14.5): the server says what it calls a tool, and the
caller may only know it by another name, or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.wire import jsonrpc

__all__ = ["rename_fallback"]

_MARK = b"fallback_tool"


def rename_fallback(error: bytes, exposed: Callable[[str], str | None]) -> bytes:
    """The JSON-RPC error object with the fallback under its exposed name; without the member where `exposed` knows none,
    because a name that cannot be called helps nobody. Everything else stays as it was written."""
    if error.find(_MARK) < 0:
        return error
    try:
        members: dict[str, Any] = dict(jsonrpc.decode_members(error))
        data: dict[str, Any] = dict(jsonrpc.decode_members(members["data"]))
        mgp: dict[str, Any] = dict(jsonrpc.decode_members(data["_mgp"]))
        said = jsonrpc.decode(mgp["fallback_tool"])
    except (KeyError, ValueError):
        return error
    name = exposed(said) if isinstance(said, str) else None
    if name is None:
        del mgp["fallback_tool"]
    else:
        mgp["fallback_tool"] = name
    data["_mgp"] = msgspec.Raw(jsonrpc.encode(mgp))
    members["data"] = msgspec.Raw(jsonrpc.encode(data))
    return jsonrpc.encode(members)

"""Decodes the params of a tool server's notification; names those that are too long, no JSON object, or can be read in two ways."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification
from gatewright.mcp.wire.spellings import SAID, flaw_of_params

__all__ = ["params_of"]


def params_of(note: Notification) -> dict[str, Any] | str:
    """The params of a notification, or what is wrong with it."""
    if len(note.params) > DECODED_BYTES:
        return f"a notification of more than {DECODED_BYTES} bytes"
    try:
        params = jsonrpc.decode(note.params) if note.params else {}
    except jsonrpc.TooMuch as problem:
        return f"a notification whose params cannot be read: it {problem}"
    except ValueError:
        params = None
    if type(params) is not dict:
        return "a notification whose params cannot be read"
    flaw = flaw_of_params(note.method, params, SAID)
    return f"a notification that can be read in two ways: {flaw}" if flaw else params

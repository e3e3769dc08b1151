"""Decodes the params of a tool server's notification; names those that are too long, no JSON object, or can be read in two ways."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification
from gatewright.mcp.wire.methods import EVENT
from gatewright.mcp.wire.spellings import SAID, flaw_of_params

__all__ = ["EVENT_BYTES", "params_of"]

EVENT_BYTES = 64 * 1024
"""Bytes of one event (MGP §13.3), as JSON: it goes to everybody who wants it."""
_EVENT_NS = 3_000_000
"""What it may take to decode one: a server sends a hundred a second, and each is written again."""


def params_of(note: Notification) -> dict[str, Any] | str:
    """The params of a notification, or what is wrong with it."""
    if len(note.params) > DECODED_BYTES:
        return f"a notification of more than {DECODED_BYTES} bytes"
    if note.method == EVENT and (flaw := _flaw_of_event(note.params)):
        return flaw
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


def _flaw_of_event(params: bytes) -> str:
    """Why an event is not read, or nothing: all that is in it would be decoded before it is found to be too much."""
    if len(params) > EVENT_BYTES:
        return f"an event of more than {EVENT_BYTES} bytes"
    flaw = jsonrpc.heavy(params, _EVENT_NS)
    return f"an event that {flaw}" if flaw else ""

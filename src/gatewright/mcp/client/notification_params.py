"""Decodes the params of a tool server's notification; names those that are too long, no JSON object, or can be read in two ways."""

from __future__ import annotations

from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import OF_THE_SERVER, TASK_STATUS
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.jsonrpc import Notification
from gatewright.mcp.wire.spellings import SAID, flaw_of_params

__all__ = ["EVENT_BYTES", "params_of"]

EVENT_BYTES = 64 * 1024
"""Bytes of one event (MGP §13.3), as JSON: it goes to everybody who wants it; and of all else that a server says of itself, such as
that a list has changed."""
_EVENT_NS = 3_000_000
"""What it may take to decode one: a server sends as many as it likes, and what is passed on is written again."""
_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
"""It repeats every resource that callers listen for, which may be thousands."""
_SHORT = (OF_THE_SERVER - TASK_STATUS - {_ACKNOWLEDGED}) | {"notifications/cancelled"}
"""These name things. What else comes may have texts, results or rows in it."""


def params_of(note: Notification) -> dict[str, Any] | str:
    """The params of a notification, or what is wrong with it."""
    if len(note.params) > DECODED_BYTES:
        return f"a notification of more than {DECODED_BYTES} bytes"
    if note.method in _SHORT and (flaw := _flaw_of_short(note.params)):
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


def _flaw_of_short(params: bytes) -> str:
    """Why one that is to be short is not read, or nothing: all that is in it would be decoded before it is found to be too much."""
    if len(params) > EVENT_BYTES:
        return f"a notification of its kind with more than {EVENT_BYTES} bytes"
    flaw = jsonrpc.heavy(params, _EVENT_NS)
    return f"a notification that {flaw}" if flaw else ""

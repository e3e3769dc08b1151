"""`shared`: JSON-RPC params that go to many clients, their large members encoded once as raw JSON, with their size in bytes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.mcp.wire.jsonrpc import encode

__all__ = ["shared"]

_LARGE = 512
"""Bytes of JSON from which on a copy of the text takes less than to make it again."""


def shared(params: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The same params, for each of many to be encoded with members of its own, and how long they are as JSON. Names and words stay
    values: whoever takes them looks at those. `data` is the servers' own, whatever it is."""
    found, size = dict(params), 2
    for name, value in params.items():
        text = encode(value)
        size += len(text) + len(name) + 4
        is_text = isinstance(value, str) and name != "data"
        if len(text) >= _LARGE and name != "_meta" and not is_text:
            found[name] = msgspec.Raw(text)
    return found, size

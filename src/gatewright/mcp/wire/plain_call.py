"""Reads the usual `tools/call` of JSON-RPC 2.0 in two decodes: its id, params and their size; leaves everything else to `jsonrpc.parse`."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from gatewright.mcp.wire.foreign_json import decode
from gatewright.mcp.wire.json_bounds import Limits

__all__ = ["plain_call"]

_QUOTES = 2 * len(("jsonrpc", "2.0", "id", "method", "tools/call", "params"))


class _Call(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: msgspec.Raw
    method: Literal["tools/call"]
    params: msgspec.Raw


_call = msgspec.json.Decoder(_Call).decode


def plain_call(data: bytes, limits: Limits) -> tuple[bytes, dict[str, Any], int] | None:
    """Of a `tools/call` with params, an id without escapes and nothing else: that id, the decoded params, and how many bytes they have.
    None for anything else, and for what `parse` or `decode` object to."""
    try:
        found = _call(data)
        ident, text = bytes(found.id), bytes(found.params)
        params = decode(text)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None
    size = len(text)
    # Of what stands twice, the quotes stand twice, as in `parse`; those of a text for an id are two more.
    usual = (
        size <= limits.light
        and text[:1] == b"{"
        and data.count(b'"') - text.count(b'"') == (_QUOTES if ident.isdigit() else _quotes(ident))
        and text.count(b"{") + text.count(b"[") <= limits.depth
        and len(ident) <= limits.id_chars
    )
    return (ident, params, size) if usual else None


def _quotes(ident: bytes) -> int:
    """How many quotes stand outside of the params of a request with an id that is no natural number; none has so many where it is no
    id, or one with escapes."""
    if ident[:1] == b'"' and ident.isascii() and ident.find(b"\\") < 0:
        return _QUOTES + 2
    return _QUOTES if ident[:1] == b"-" and ident[1:].isdigit() else -1

"""Translates between legacy MCP and 2026-07-28: params (`_meta` keys), results (`resultType`, `ttlMs`, `cacheScope`), error codes.

Legacy revisions open with a handshake and let the server put requests to its client in the middle of
a call. The modern revision (2026-07-28) carries everything in each request, and a server that needs
something answers `input_required` (`input_required.py`); the client repeats the call with the answers and an opaque state
(`request_state.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Answer, Client
from gatewright.mcp.protocol.read_members import members_of
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import (
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_VERSION,
    OF_CONNECTION,
)
from gatewright.mcp.wire.versions import CACHED, is_modern

__all__ = ["error_code", "lacks_both", "legacy_params", "modern_params", "tail", "to_caller"]

_NO_RESOURCE_LEGACY = -32002
_ADDED = ("resultType", "ttlMs", "cacheScope")


def modern_params(
    params: dict[str, Any], client: Client, *, revision: str, info: Mapping[str, Any]
) -> dict[str, Any]:
    """`params` for a modern server: with the connection's `_meta` keys, the caller's capabilities
    in them, so that the server asks only for what the caller can answer."""
    found = params.get("_meta")
    meta = dict(found) if isinstance(found, dict) else {}
    meta[META_VERSION] = revision
    meta[META_CLIENT_INFO] = info
    meta[META_CLIENT_CAPABILITIES] = client.capabilities
    if client.log_level is not None:
        meta[META_LOG_LEVEL] = client.log_level
    return {**params, "_meta": meta}


def legacy_params(params: dict[str, Any]) -> dict[str, Any]:
    """`params` for a legacy server: without the modern connection's keys, otherwise the same."""
    meta = params.get("_meta")
    if not isinstance(meta, dict) or META_VERSION not in meta:
        return params
    without = params.copy()
    del without["_meta"]
    if not OF_CONNECTION.issuperset(meta):
        rest = {key: value for key, value in meta.items() if key not in OF_CONNECTION}
        without["_meta"] = rest
    return without


def to_caller(answer: Answer, method: str, client: Client, server_info: Mapping[str, Any]) -> bytes:
    """The result in the form of the caller's era; untouched where both ends are of one era."""
    modern = is_modern(client.revision)
    if modern == answer.modern:
        return answer.raw
    raw = answer.raw
    if answer.own:  # it may be long, and is not read again
        return b"{" + _expected(method, server_info) + b"," + raw[1:]
    # Names that certainly do not stand there can be appended to the bytes as they came (decision 0060).
    if modern and method not in CACHED and lacks_both(raw):
        return raw[:-1] + b"," + _expected(method, server_info) + b"}"
    if raw[:1] != b"{":
        return raw  # no object, so nothing of ours can stand in it
    members = members_of(answer)
    return _up(members, method, server_info) if modern else _down(members)


def _expected(method: str, server_info: Mapping[str, Any]) -> bytes:
    """The members that a modern caller expects in every result, as text."""
    fresh = b'"ttlMs":0,"cacheScope":"private",' if method in CACHED else b""
    return b'"resultType":"complete",' + fresh + _ABOUT + jsonrpc.encode(server_info) + b"}"


_ABOUT = b'"_meta":{"%b":' % META_SERVER_INFO.encode()


def tail(server_info: Mapping[str, Any]) -> bytes:
    """What stands in place of the last brace of a result that `lacks_both`, for a modern caller; not of a `CACHED` method's."""
    return b"," + _expected("", server_info) + b"}"


def lacks_both(raw: bytes) -> bool:
    """Whether it is an object with members, for certain without `resultType` and `_meta`. Where the names stand
    further inside, or are perhaps spelled with escapes, it has to be read."""
    return (
        raw[:2] == b'{"'
        and raw.find(b'"resultType"') < 0
        and raw.find(b'"_meta"') < 0
        and raw.find(b"\\u") < 0
        and raw[-1:] == b"}"
    )


def _members(raw: bytes | msgspec.Raw) -> dict[str, Any] | None:
    """The members of an object, or None where the text is something else."""
    if bytes(raw)[:1] != b"{":
        return None
    return dict(jsonrpc.decode_members(raw))


def _up(members: dict[str, Any], method: str, server_info: Mapping[str, Any]) -> bytes:
    members.setdefault("resultType", "complete")
    if method in CACHED:
        # A legacy server promised nothing about freshness, and lists differ by caller.
        members.setdefault("ttlMs", 0)
        members.setdefault("cacheScope", "private")
    meta = _members(members["_meta"]) if "_meta" in members else {}
    if meta is not None and META_SERVER_INFO not in meta:
        members["_meta"] = {**meta, META_SERVER_INFO: server_info}
    return jsonrpc.encode(members)


def _down(members: dict[str, Any]) -> bytes:
    for name in _ADDED:
        members.pop(name, None)
    meta = _members(members["_meta"]) if "_meta" in members else None
    if meta and META_SERVER_INFO in meta:
        del meta[META_SERVER_INFO]
        if meta:
            members["_meta"] = meta
        else:
            del members["_meta"]
    return jsonrpc.encode(members)


def error_code(code: int, method: str, client: Client) -> int:
    """The code of a server's error in the caller's era: 2026-07-28 gave -32002 (no such resource) up."""
    if code == _NO_RESOURCE_LEGACY and method == "resources/read" and is_modern(client.revision):
        return jsonrpc.INVALID_PARAMS
    return code

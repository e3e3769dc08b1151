"""Makes results safe from shared caches, for modern callers: drops legacy servers' caching members and server info, sets `cacheScope` private."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gatewright.call import Answer, Call
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.versions import is_modern
from gatewright.servers.task_screening import METHODS as OF_TASKS

__all__ = ["is_read", "raw_members", "without_members", "without_promises"]

_READ = "resources/read"
_PRIVATE = b'"private"'
_FOR_ONE = b'"cacheScope":' + _PRIVATE


def is_read(call: Call, answer: Answer) -> bool:
    """Whether an answer has to be read for its method: about a task, or a resource that says how it may be kept."""
    if call.method != _READ:
        return call.method in OF_TASKS
    raw = answer.raw
    if answer.modern:
        return raw.count(b'"cacheScope"') != raw.count(_FOR_ONE) or raw.find(_FOR_ONE) < 0
    return raw.find(b'"cacheScope"') >= 0 or raw.find(b'"ttlMs"') >= 0


def without_promises(call: Call, answer: Answer, members: dict[str, Any]) -> bool:
    """Take out what a legacy server's members would promise a modern caller about keeping the result and about who answers, and
    make `cacheScope` private: a cache that callers share does not ask the gateway who may read. True where something changed."""
    if not is_modern(call.client.revision):
        return False
    if answer.modern:
        scope = bytes(members.get("cacheScope", _PRIVATE)) if call.method == _READ else _PRIVATE
        if scope != _PRIVATE:
            members["cacheScope"] = "private"
        return scope != _PRIVATE
    changed = call.method == _READ and without_members(members, ("ttlMs", "cacheScope"))
    found = members.get("_meta")
    meta = found if isinstance(found, dict) else raw_members(found)
    if META_SERVER_INFO not in meta:
        return changed
    members["_meta"] = {name: one for name, one in meta.items() if name != META_SERVER_INFO}
    return True


def without_members(members: dict[str, Any], names: Iterable[str]) -> bool:
    """Take some members out. True where there was one of them."""
    found = [name for name in names if name in members]
    for name in found:
        del members[name]
    return bool(found)


def raw_members(text: Any) -> Mapping[str, Any]:
    """The members of an object's text; none of what is no object. Raises `ValueError`."""
    raw = b"" if text is None else bytes(text)
    return jsonrpc.decode_members(raw) if raw[:1] == b"{" else {}

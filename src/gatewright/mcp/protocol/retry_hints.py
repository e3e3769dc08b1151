"""Rewrites retry hints in servers' errors (MGP §14.5) where calls may have run; renames fallback tools; HTTP statuses that cause retries.

A server says in the data of an error that asking again can help. Between a server that does not know whether it has acted, and
a client that believes it, a payment is made four times. So where nobody knows that nothing ran, what travels on says no:
in each of the places where clients look (`recovery.read_hint`). Everything else stays as the server wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import UNTOUCHED
from gatewright.mcp.wire.spellings import to_drop

__all__ = ["COME_AGAIN", "MIRROR", "ONCE", "renamed", "says_it_ran", "unpromised"]

MIRROR = "dev.cloto/mgp"
"""Where an error repeats its `_mgp` below `_meta`, for stacks that drop what they do not know."""

COME_AGAIN = frozenset({401, 403, 408, 409, 425, 429, 500, 502, 503, 504})
"""The statuses after which HTTP clients get another token, or wait, and send the same request again by themselves. They are not
for a call that may have been carried out."""

ONCE = 422
"""What such a call is answered with where the status has to say that it failed: nobody sends it again for that."""

_PROMISES = ("retry_after_ms", "retry_strategy", "max_retries", "fallback_tool")
_FALLBACK = "fallback_tool"

_READ = frozenset((*_PROMISES, "retryable", "details", "_mgp", "_meta"))
"""What clients read; what reads as one of these and is spelled otherwise goes as well."""

_Change = Callable[[dict[str, Any]], None]


def unpromised(error: bytes, *, mgp: bool) -> bytes:
    """The JSON-RPC error object as it may travel on where its call may have been carried out. One whose code says that
    nothing was (`UNTOUCHED`) keeps its promise, where `mgp` was negotiated with its server; elsewhere that is any number."""
    return _changed(error, _unpromise, kept=UNTOUCHED if mgp else frozenset())


def renamed(error: bytes, exposed: Callable[[str], str | None]) -> bytes:
    """The JSON-RPC error object with its fallback tool under the name that `exposed` knows for it; without the member
    where it knows none, because a name that cannot be called helps nobody."""

    def rename(holder: dict[str, Any]) -> None:
        if _FALLBACK in holder:
            said = holder.pop(_FALLBACK)
            name = exposed(said) if isinstance(said, str) else None
            if name is not None:
                holder[_FALLBACK] = name

    return _changed(error, rename)


def _changed(error: bytes, change: _Change, kept: frozenset[int] = frozenset()) -> bytes:
    """The error with each object in it changed that clients read hints from; its own bytes where that changes nothing, and with
    one of the codes `kept` unless its data says that the call ran."""
    try:
        members: dict[str, Any] = dict(jsonrpc.decode_members(error))
        data = jsonrpc.decode(members["data"])
        code = jsonrpc.decode(members["code"])
    except (KeyError, ValueError):
        return error
    untouched = isinstance(code, int) and code in kept
    if not isinstance(data, dict) or (untouched and not says_it_ran(data)):
        return error
    before = jsonrpc.encode(data)
    for holder in _holders(data):
        change(holder)
    after = jsonrpc.encode(data)
    if after == before:
        return error
    return jsonrpc.encode({**members, "data": jsonrpc.decode(after)})


def _holders(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    meta = data.get("_meta")
    found = (data, data.get("_mgp"), meta.get(MIRROR) if isinstance(meta, dict) else None)
    return [one for one in found if isinstance(one, dict)]


def says_it_ran(data: Mapping[str, Any]) -> bool:
    """Whether a server says of a call, in any of the places where clients look, that it went on with it, whatever its code means."""
    details = [one.get("details") for one in _holders(data)]
    return any(isinstance(one, dict) and one.get("sent") is True for one in details)


def _unpromise(holder: dict[str, Any]) -> None:
    told = [holder.pop(name) for name in (*_PROMISES, *to_drop(holder, _READ)) if name in holder]
    # Said in so many words: where nothing is said, clients go by what the code means (`recovery.read_hint`).
    if told or "retryable" in holder:
        holder["retryable"] = False
    details = holder.get("details")
    if isinstance(details, dict) and details.get("sent") is False:
        holder["details"] = {name: value for name, value in details.items() if name != "sent"}

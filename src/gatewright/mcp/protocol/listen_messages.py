"""Messages of `subscriptions/listen`: the part of its filter that is acknowledged, notifications marked with its id, its last result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.call import Mgp
from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION

__all__ = ["acknowledgement", "listened", "tag"]


def tag(params: Mapping[str, Any] | None, subscription: Any) -> dict[str, Any]:
    """Notification params marked with the `subscriptions/listen` request they answer."""
    found = dict(params or {})
    meta = found.get("_meta")
    found["_meta"] = {**(meta if isinstance(meta, dict) else {}), META_SUBSCRIPTION: subscription}
    return found


def listened(subscription: Any) -> bytes:
    """The result of a `subscriptions/listen` that the server ends."""
    return jsonrpc.encode({"resultType": "complete", **tag(None, subscription)})


def acknowledgement(wanted: Any, limit: int, mgp: Mgp | None = None) -> dict[str, Any]:
    """The part of a `notifications` filter that we honour, in the filter's own form. `mgp` is what the
    client negotiated: what belongs to an extension is honoured for those who have it.

    Raises `ValueError` for a filter that is not an object or asks for more than `limit` resources.
    """
    if not isinstance(wanted, dict):
        raise ValueError("params.notifications must be an object")  # noqa: TRY004 - bad input
    honoured: dict[str, Any] = {
        name: True
        for name in ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
        if wanted.get(name) is True
    }
    uris = wanted.get("resourceSubscriptions") or []
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        raise ValueError("resourceSubscriptions must be an array of URIs")
    if len(uris) > limit:
        raise ValueError(f"at most {limit} resources can be subscribed to by one client")
    if uris:
        honoured["resourceSubscriptions"] = list(dict.fromkeys(uris))
    for name, extension in ((AUDIT_WANTED, "audit"), (LIFECYCLE_WANTED, "lifecycle")):
        if wanted.get(name) is True and mgp is not None and extension in mgp.extensions:
            honoured[name] = True
    events = wanted.get(EVENTS_WANTED)
    if isinstance(events, dict) and mgp is not None and "bidirectional" in mgp.extensions:
        honoured[EVENTS_WANTED] = events
    return honoured

"""Judge of the two-sided model, the part about streams: which answer, which change and which call stands on which of them.

A client of 2026-07-28 is told nothing but what belongs to a request of its own that is open: what a request to listen was granted, under the
number of that one, after what was granted; and what is about a call. Over HTTP each request has a stream, and all of it stands there alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple

from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from gatewright.mcp.server.open_call import HANDLE
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import KINDS
from tests.behaviour.two_sided_watched import Watched

__all__ = ["Listened", "Stream"]

_ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
_UPDATED, _EVENT = "notifications/resources/updated", "notifications/mgp.event"
_WANTED = {
    **{f"notifications/{kind}/list_changed": f"{kind}ListChanged" for kind in KINDS},
    "notifications/mgp.audit": AUDIT_WANTED,
    "notifications/mgp.lifecycle": LIFECYCLE_WANTED,
}
_LISTENED = frozenset({_ACKNOWLEDGED, _UPDATED, _EVENT, *_WANTED})
"""What is told to who listens, and not about a call."""


class Stream(NamedTuple):
    """A request to listen of a client, on one of its connections, and something of which it hears: a method, or a resource."""

    who: str
    times: int
    ident: Any
    what: str


class Listened(Watched):
    """See the module's text."""

    def __init__(self) -> None:
        self.cancelled_by: dict[str, tuple[str, int, int]] = {}
        """By each handle of a call: who was told it, on which connection, and about which request."""
        self.heard_on: Counter[Stream] = Counter()
        """How often each request to listen heard of something that was granted to it."""

    def judge_listened(self, client: Client, said: Any, stream: int | None) -> None:
        """Look at where a client hears something."""
        method, ident = said.get("method"), said.get("id")
        params = said.get("params") or {}
        found = params.get("_meta")
        meta: dict[str, Any] = found if isinstance(found, dict) else {}
        own = client.host.wire == "http" and stream is not None
        if own and method is None and ident != stream:
            self.fault(f"{client.name} was answered on the stream of another request", said)
        about_a_call = str(method).startswith("notifications/mgp.") and method not in _LISTENED
        if own and about_a_call and params.get("request_id", stream) != stream:
            self.fault(f"{client.name} heard of a call on the stream of another", said)
        if HANDLE in meta:
            self._handle(client, meta[HANDLE], stream, said)
        if not client.modern or method is None or ident is not None:
            return
        if (method in _LISTENED) is not (META_SUBSCRIPTION in meta):
            self.fault(f"{client.name} was told what no request of its own asked for", said)
        elif method in _LISTENED:
            self._granted(client, method, params, stream, said)

    def _granted(
        self, client: Client, method: str, params: Any, stream: int | None, said: Any
    ) -> None:
        ident = params["_meta"][META_SUBSCRIPTION]
        granted = client.acks.get(ident) if ident in client.open else None
        if client.host.wire == "http" and stream != ident:
            self.fault(f"{client.name} heard on one stream what another listens for", said)
        if method == _ACKNOWLEDGED:
            if granted is not None or not _within(client, ident, params["notifications"]):
                self.fault(f"{client.name} was granted what it did not ask for", said)
        elif granted is None or not _of(granted, method, params):
            self.fault(f"{client.name} was told what it was not granted", said)
        self.heard_on[Stream(client.name, client.times, ident, params.get("uri", method))] += 1

    def _handle(self, client: Client, handle: Any, stream: int | None, said: Any) -> None:
        """A call without a session is named by what nobody else was ever told."""
        asked = client.open.get(stream) if stream is not None else None
        mine = client.name, client.times, -1 if stream is None else stream
        known = self.cancelled_by.setdefault(str(handle), mine)
        if known != mine or asked is None or not (client.sessionless and client.host.mgp):
            self.fault(f"{client.name} was told by what another call is cancelled", said)


def _of(granted: Mapping[str, Any], method: str, params: Any) -> bool:
    if method == _UPDATED:
        return params.get("uri") in granted.get("resourceSubscriptions", ())
    if method == _EVENT:
        mine = granted.get(EVENTS_WANTED) or {}
        return "subscription_id" in mine and mine["subscription_id"] == params["subscription_id"]
    return granted.get(_WANTED[method]) is True


def _within(client: Client, ident: Any, granted: Mapping[str, Any]) -> bool:
    asked = client.open.get(ident)
    if asked is None:
        return False
    wanted = asked.params["notifications"]
    uris = set(granted.get("resourceSubscriptions", ()))
    return granted.keys() <= wanted.keys() and uris <= set(wanted.get("resourceSubscriptions", ()))

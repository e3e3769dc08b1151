"""What the extensions of MGP add to who stands around the two-sided model: what a client hears by them, and what a server is asked by them.

Chunks carry in `x` whose call they are of and a number, `piece-3`; an event of a server a number of its own, `event-7`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.behaviour.two_sided_offers import LISTS

__all__ = ["CHANNELS", "FINDING", "OF_ALL", "OWN", "Hearing", "Sent", "Speaks", "Subscribed", "events", "fits", "of_servers", "pieces"]  # fmt: skip

CHANNELS = ("tool.flood", "security.scan", "system.*", "tool.started", "tool.*")
"""What clients subscribe to: channels that servers have, and some of the gateway's own."""
OWN = frozenset({"tool.started", "security.access_denied"})
"""Those of the gateway's own: no server is asked for them in the name of a client, nor heard on them."""
FINDING = ("mgp/tools/discover", "mgp/tools/request", "mgp/discovery/list")
OF_ALL = frozenset({*FINDING, *LISTS})
"""What is answered of all that somebody may see."""
_PIECE = re.compile(r"\bpiece-(\d+)\b")
_EVENT = re.compile(r"\bevent-(\d+)\b")


def pieces(text: str) -> list[int]:
    """The numbers of the chunks in a message."""
    return [int(one) for one in _PIECE.findall(text)]


def events(text: str) -> list[int]:
    """The numbers of the events in a message."""
    return [int(one) for one in _EVENT.findall(text)]


def fits(pattern: str, channel: str) -> bool:
    """Whether a name that was asked for means a channel."""
    return channel.startswith(pattern[:-1]) if pattern.endswith(".*") else channel == pattern


def of_servers(channels: Iterable[str]) -> tuple[str, ...]:
    """What servers are asked for of channels that a client wants."""
    return tuple(sorted(one for one in channels if one not in OWN))


class Sent(NamedTuple):
    """An event that a server sent: in which channel, and whether under an id that it had given out on that connection for it."""

    server: str
    channel: str
    valid: bool


class Subscribed:
    """A subscription of a client, as it was granted: its channels, and the number of the last event."""

    def __init__(
        self, channels: tuple[str, ...], sequence: int = 0, listen: int | None = None
    ) -> None:
        self.channels = channels
        self.sequence = sequence
        self.listen = listen
        """The request to listen with which it ends, where it was made by one."""


class Hearing:
    """What one connection of a client hears by extensions."""

    def __init__(self) -> None:
        self.pieces: dict[int, list[int]] = {}
        """By the id of each call, the numbers of the chunks that came."""
        self.over: set[int] = set()
        """The ids of calls that were cancelled by `mgp/stream/cancel`."""
        self.subscriptions: dict[str, Subscribed] = {}
        self.callbacks: dict[str, tuple[str, str]] = {}
        """By its id, each callback that was put: about which call, and which question of a server it is."""
        self.handles: dict[str, str] = {}
        """Where there is no session: what each call is cancelled by, and its mark."""

    def granted(self, listen: int, wanted: dict[str, Any], found: dict[str, Any]) -> None:
        """Remember what a request to listen was granted of events."""
        if "subscription_id" in found:
            since = min(wanted.get("since", 0), found.get("sequence", 0))
            known = Subscribed(tuple(found["subscribed"]), since, listen)
            self.subscriptions[found["subscription_id"]] = known

    def got(self, method: str, params: dict[str, Any], found: Any) -> None:
        """Remember what an answer gives a right to."""
        if method == "mgp/events/subscribe" and "subscription_id" in found:
            since = min(params.get("since", 0), found.get("sequence", 0))
            known = Subscribed(tuple(found["subscribed"]), since)
            self.subscriptions[found["subscription_id"]] = known
        elif method == "mgp/events/unsubscribe":
            self.subscriptions.pop(str(found.get("subscription_id")), None)


class Speaks:
    """What one connection of a server is asked by extensions."""

    def __init__(self) -> None:
        self.subscribed_to: dict[str, tuple[str, ...]] = {}
        """The channels of each subscription, by its id: each connection counts from one, as all servers do."""
        self.subscriptions = 0
        self.called_back: dict[str, tuple[str, str]] = {}
        """By its id, each callback without a response: about which call it is, and which question."""
        self.streamed: dict[int, int] = {}
        """By the id of each call, how many chunks were sent of it."""
        self.stopped: set[Any] = set()
        """What it was told to stop, by id."""

    def of_mgp(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """What it answers; None where this is no request of MGP."""
        if method == "mgp/events/subscribe":
            self.subscriptions += 1
            ident = f"s{self.subscriptions}"
            self.subscribed_to[ident] = tuple(params["channels"])
            return {"subscribed": params["channels"], "unsupported": [], "subscription_id": ident}
        if method == "mgp/events/unsubscribe":
            self.subscribed_to.pop(str(params.get("subscription_id")), None)
        elif method == "mgp/callback/respond":
            self.called_back.pop(str(params.get("callback_id")), None)
        elif method == "mgp/stream/cancel":
            self.stopped.add(params.get("request_id"))
            return {"cancelled": True}
        return {"x": ""} if method.startswith("mgp/") else None

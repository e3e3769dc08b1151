"""Which peers visit which guests, and the visits themselves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.behaviour.gateway import Gateway
from tests.peers.expected import STEPS
from tests.peers.peers import Peer, driver, guest, listening, seen, target

__all__ = ["AGGREGATED", "GUESTS", "PAIRS", "PEERS", "Guest", "make", "steps"]

PEERS = (
    *(Peer("sdk1", wire) for wire in ("http", "stdio", "websocket", "sse")),
    *(
        Peer(name, wire, era)
        for name in ("sdk2", "ts2")
        for era in ("legacy", "auto", "modern")
        for wire in ("http", "stdio")
    ),
    *(Peer("ts1", wire) for wire in ("http", "stdio", "websocket", "sse")),
)

AGGREGATED = ("sse",)
"""Transports that have one endpoint for all servers."""

FEW = ("sdk1", "ts2_new", "sdk2_new_http")
"""Whom those peers visit that differ from another only in how they come in, or in how they open."""


class Guest(NamedTuple):
    """A guest server: which program, over which transport, in which era the gateway talks to it."""

    ident: str
    program: str
    era: str
    wire: str = "stdio"
    flags: tuple[str, ...] = ()
    answers_cancelled: bool = False
    """Whether it answers calls that were cancelled, or is reached over HTTP, where nothing hangs on that."""

    @property
    def legacy_only(self) -> bool:
        """Whether its SDK knows the handshake era only."""
        return self.program == "sdk1_server"

    @contextmanager
    def open(self) -> Iterator[dict[str, Any]]:
        """Its `[[servers]]` entry, while it can be reached."""
        if self.wire == "stdio":
            yield guest(self.ident, self.program, *self.flags, era=self.era, **SHARED)
            return
        with listening(driver(self.program, self.ident, f"--{self.wire}", *self.flags)) as ready:
            more = {"era": self.era, "transport": self.wire, **SHARED}
            yield {"id": self.ident, "url": ready.split()[1], **more}


GUESTS = {
    one.ident: one
    for one in (
        Guest("sdk1", "sdk1_server", "auto", answers_cancelled=True),
        Guest("sdk2_old", "sdk2_server", "legacy"),
        Guest("sdk2_new", "sdk2_server", "modern"),
        Guest("ts2_old", "ts2_server", "legacy"),
        Guest("ts2_new", "ts2_server", "auto", flags=("--strict",)),
        Guest("sdk1_http", "sdk1_server", "auto", wire="http"),
        Guest("sdk1_sse", "sdk1_server", "auto", wire="sse", answers_cancelled=True),
        Guest("sdk2_old_http", "sdk2_server", "legacy", wire="http"),
        Guest("sdk2_new_http", "sdk2_server", "auto", wire="http"),
        Guest("ts2_http", "ts2_server", "auto", wire="http", flags=("--strict",)),
    )
}


SHARED = {"share": "gateway"}
"""All peers share one connection to a guest. They come one after the other, so no question is in doubt."""

PAIRS = tuple(
    (peer, one)
    for peer in PEERS
    for one in GUESTS.values()
    if (peer.wire == "http" and peer.era != "auto") or one.ident in FEW
)
"""Who visits whom."""


def steps(one: Guest) -> tuple[str, ...]:
    """The steps of a visit. On a pipe that many share, a cancelled call that is never answered keeps
    other sessions from being asked for a while (docs/decisions/0004): `test_cancelling` has its own."""
    return STEPS if one.wire == "http" or one.answers_cancelled else STEPS[:-1]


def make(gateway: Gateway, peer: Peer) -> dict[str, Any]:
    """Send a peer on its visits."""
    together = peer.wire in AGGREGATED
    visits = [
        {
            "server": one.ident,
            "key": peer.key,
            "prefix": f"{one.ident}__" if together else "",
            "steps": list(steps(one)),
        }
        for who, one in PAIRS
        if who == peer
    ]
    if together:
        return seen(peer, [{"target": target(gateway, peer), "visits": visits}])
    return seen(
        peer,
        [
            {"target": target(gateway, peer, str(visit["server"])), "visits": [visit]}
            for visit in visits
        ],
    )

"""Calls that hosts give up are given up by servers, each side telling the other as its era does.

Servers on the newer SDKs never answer a cancelled call. Until a while has passed, the gateway counts
with their still being at it, so these visits have a gateway of their own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import Peer, guest, profiles, seen, target

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

PEERS = (
    Peer("sdk1", "http"),
    Peer("ts1", "stdio"),
    *(
        Peer(name, wire, era)
        for name in ("sdk2", "ts2")
        for wire, era in (("http", "legacy"), ("http", "modern"), ("stdio", "modern"))
    ),
)
SERVERS = ("sdk2_old", "sdk2_new", "ts2_old", "ts2_new")


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of servers that leave cancelled calls unanswered."""
    servers = [
        guest("sdk2_old", "sdk2_server", era="legacy", share="gateway"),
        guest("sdk2_new", "sdk2_server", era="modern", share="gateway"),
        guest("ts2_old", "ts2_server", era="legacy", share="gateway"),
        guest("ts2_new", "ts2_server", "--strict", share="gateway"),
    ]
    content = config(*servers, profiles=profiles(*servers))
    with running(tmp_path_factory.mktemp("slow"), content) as gateway:
        yield gateway


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_a_call_that_a_host_gives_up_is_given_up_by_the_server(slow: Gateway, peer: Peer) -> None:
    found = seen(
        peer,
        [
            {
                "target": target(slow, peer, server),
                "visits": [{"server": server, "key": peer.key, "steps": ["cancelled"]}],
            }
            for server in SERVERS
        ],
    )
    ends = {server: found[server]["cancelled"] for server in SERVERS}
    assert ends == dict.fromkeys(SERVERS, "cancelled")

"""MGP-1.4-1, `gatewright serve --stdio`: a gateway that a host starts for itself, with two servers behind it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.expected import plainly, visited
from tests.peers.peers import Peer, guest, seen, serving

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

PEERS = (
    Peer("sdk1", "stdio"),
    Peer("ts1", "stdio"),
    *(Peer(name, "stdio", era) for name in ("sdk2", "ts2") for era in ("auto", "modern")),
)


@pytest.fixture(scope="module")
def configured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose configuration the hosts' own gateways share."""
    servers = [
        guest("old", "sdk1_server", share="gateway"),
        guest("new", "ts2_server", "--strict", share="gateway"),
    ]
    with running(
        tmp_path_factory.mktemp("configured"), config(*servers, approvals={"approver": "caller"})
    ) as gateway:
        yield gateway


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_mgp_1_4_1_a_host_that_starts_its_own_gateway_sees_both_servers(
    configured: Gateway, peer: Peer
) -> None:
    visits = [{"server": one, "key": peer.key, "prefix": f"{one}__"} for one in ("old", "new")]
    found = seen(peer, [{"target": serving(configured), "visits": visits}])
    for server, shown in found.items():
        legacy_only = server == "old"
        expected = visited(peer, server, legacy_only=legacy_only, alone=False)
        if expected["hello"]["instructions"] is not None:
            parts = [f"## {one}\n\n> Be a good guest." for one in ("old", "new")]
            expected["hello"]["instructions"] = "\n\n".join(parts)
        shown["hello"]["offers"] = [
            one for one in shown["hello"]["offers"] if one != "experimental"
        ]
        shown["results"] = plainly(server, shown["results"])
        assert shown == expected
    assert sorted(found) == ["new", "old"]

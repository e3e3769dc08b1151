"""Every peer through the gateway to every guest: what it sees is what the guest offers, and nothing else.

MGP-1.1-1: a plain MCP client that never mentions MGP completes everything; no `mgp` member in any reply.
MGP-1.1-2: for such a client the gateway is an MCP server like any other.
MGP-1.3-1: plain MCP client, plain MCP server: plain MCP, in every pairing of eras.
"""

from __future__ import annotations

import pytest

from tests.peers.conftest import Tours
from tests.peers.expected import plainly, visited
from tests.peers.peers import Peer
from tests.peers.tours import AGGREGATED, GUESTS, PAIRS, Guest, steps

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]


@pytest.mark.parametrize(
    ("peer", "guest"), PAIRS, ids=lambda one: one.ident if isinstance(one, Guest) else "-".join(one)
)
def test_mgp_1_1_1_a_stock_client_sees_what_the_server_offers(
    toured: Tours, peer: Peer, guest: Guest
) -> None:
    alone = peer.wire not in AGGREGATED
    expected = visited(
        peer, guest.ident, legacy_only=guest.legacy_only, alone=alone, steps=steps(guest)
    )
    found = toured(peer, guest.ident)
    found["hello"]["offers"] = [one for one in found["hello"]["offers"] if one != "experimental"]
    if not alone:
        expected["hello"]["instructions"] = _together()
        found["results"] = plainly(guest.ident, found["results"])
    assert found == expected


def _together() -> str:
    parts = [f"## {one}\n\n> Be a good guest." for one in GUESTS]
    return "\n\n".join(parts)

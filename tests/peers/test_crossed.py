"""Hosts and servers of different eras, and several hosts at once, with the gateway's own defaults.

`old` is a server that knows the handshake era only, `new` one that refuses it. Everything else that a
host of one era can do with a server of the other is in `test_tours`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import Peer, guest, profiles, seen, target, together

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

PEERS = (
    Peer("sdk1", "http"),
    Peer("ts1", "http"),
    *(Peer(name, "http", era) for name in ("sdk2", "ts2") for era in ("legacy", "modern")),
)
ASK = ["tools/call", {"name": "ask", "arguments": {"question": "Who are you?"}}]
INTERVIEW = ["tools/call", {"name": "interview", "arguments": {}}]


@pytest.fixture(scope="module")
def eras(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of a server of each era, and of one that is spoken to in the older one."""
    servers = [
        guest("old", "sdk1_server"),
        guest("new", "ts2_server", "--strict", methods=["guest/*"]),
        guest("either", "ts2_server", era="legacy", methods=["guest/*"]),
    ]
    content = config(*servers, profiles=profiles(*servers))
    with running(tmp_path_factory.mktemp("eras"), content) as gateway:
        yield gateway


def asked(gateway: Gateway, peer: Peer, script: Any, *servers: str, **more: Any) -> dict[str, Any]:
    """The answers to a script, by server."""
    plan = [
        {
            "target": target(gateway, peer, server),
            "visits": [{"server": server, "key": peer.key, "script": script}],
        }
        for server in servers
    ]
    found = seen(peer, plan, **more)
    assert all(isinstance(one["script"], dict) for one in found.values()), found
    return {server: one["script"]["answers"] for server, one in found.items()}


@pytest.mark.parametrize("server", ["old", "new"])
def test_questions_of_hosts_at_the_same_time_go_to_the_host_whose_call_it_was(
    eras: Gateway, server: str
) -> None:
    names = {peer.key: peer for peer in (PEERS[0], PEERS[1], PEERS[3], PEERS[5])}
    script = [ASK, INTERVIEW] * 3
    jobs = [partial(asked, eras, peer, script, server, name=name) for name, peer in names.items()]
    for name, answers in zip(names, together(*jobs), strict=True):
        texts = [json.loads(one["content"][0]["text"]) for one in answers[server]]
        mine = {"action": "accept", "content": {"name": name}}
        assert [one.get("who", one) for one in texts] == [mine] * len(script)


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_a_host_that_cannot_be_asked_hears_why_the_tool_did_not_run(
    eras: Gateway, peer: Peer
) -> None:
    found = asked(eras, peer, [ASK], "new", "old", mute=True)
    assert found["new"] == [-32021]
    # The server fails with what it was told: its client knows no such method. Over HTTP that is a
    # 404 in the modern era, whose body the TypeScript SDK does not read.
    assert found["old"] == ["CLIENT_HTTP_NOT_IMPLEMENTED" if peer == PEERS[-1] else -32601]


@pytest.mark.parametrize(
    "peer", [one for one in PEERS if one.driver.startswith("ts")], ids="-".join
)
def test_a_method_that_no_specification_knows_passes(eras: Gateway, peer: Peer) -> None:
    """Where an operator declared it (decision C-62), and to the profile's server: each is alone in its own."""
    shout = ["guest/shout", {"words": "hello"}]
    loud = [{"loud": "HELLO"}]
    assert asked(eras, peer, [shout], "new", "either") == {"new": loud, "either": loud}

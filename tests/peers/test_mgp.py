"""MGP and plain MCP, in every pairing, with clients and servers on SDKs that know nothing of MGP.

The MGP clients here are the same stock SDKs, told to offer MGP in the place where each of them can:
TypeScript in `capabilities.mgp`, the Python SDK 1.30 in an extra member, 2.3 as an extension. The MGP
server is one on the TypeScript SDK v2 that declares MGP, puts `security` on its tools and `_mgp` on its
results.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.expected import WORDS
from tests.peers.peers import Peer, driver, guest, profiles, seen, target

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

OFFER = {"version": "0.2.0", "extensions": ["security", "audit"]}
STOCK = (
    Peer("sdk1", "http"),
    Peer("ts1", "http"),
    *(Peer(name, "http", era) for name in ("sdk2", "ts2") for era in ("legacy", "auto")),
)
PLACES = {"sdk1": "mgp", "sdk2": "extensions", "ts1": "mgp", "ts2": "mgp"}
"""Where each SDK can put an offer; the reply stands in the same place."""

SCRIPT: list[Any] = [
    ["tools/list", {}],
    ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 3}}],
    ["tools/call", {"name": "ask", "arguments": {"question": "rm -rf /"}}],
    ["tools/call", {"name": "heard", "arguments": {}}],
]
SUM = {"content": [{"type": "text", "text": "5"}], "structuredContent": {"sum": 5}}
BLOCKED = 1010


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway for all pairings: a plain server and one that speaks MGP, both offered MGP."""
    mgp = {"extensions": ["security", "lifecycle"]}
    careful = {"ask": {"validator": "sandbox"}}
    # Only of a server that is trusted is it believed that a tool is safe (decision 0118).
    trusted = {**mgp, "trust_level": "trusted"}
    servers = [
        guest("plain", "sdk1_server", mgp=mgp, tools=careful),
        guest("governed", "ts2_server", "--mgp", mgp=trusted, tools=careful),
    ]
    content = config(*servers, profiles=profiles(*servers))
    with running(tmp_path_factory.mktemp("four"), content) as gateway:
        yield gateway


Visits = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def visit(four: Gateway) -> Visits:
    """What a peer saw of a server, with or without an offer. It visits both servers at once."""
    made: dict[Any, dict[str, Any]] = {}

    def look(peer: Peer, server: str, *, offering: bool = False) -> dict[str, Any]:
        if (peer, offering) not in made:
            plan = [plan_of(one, peer, target(four, peer, one)) for one in ("plain", "governed")]
            made[peer, offering] = seen(peer, plan, **({"offer": OFFER} if offering else {}))
        found: dict[str, Any] = made[peer, offering][server]
        assert isinstance(found["script"], dict), found["script"]
        return found

    return look


def plan_of(server: str, peer: Peer, place: Any) -> dict[str, Any]:
    """One visit."""
    return {"target": place, "visits": [{"server": server, "key": peer.key, "script": SCRIPT}]}


def secured(peer: Peer) -> list[dict[str, Any]]:
    """The guest's tools with their effective security, as far as the SDK lets an MGP client see it:
    the TypeScript SDKs and the Python SDK 2.3 lose unknown members of tools, none loses `_meta`."""
    tools = []
    for one in WORDS["tools"]:
        security = {
            "risk_level": "safe",
            "permissions_required": [],
            "validator": "sandbox" if one["name"] == "ask" else "none",
            "confirmation_required": False,
        }
        meta = {**one.get("_meta", {}), "dev.cloto/security": security}
        shown = {"security": security} if peer.driver == "sdk1" else {}
        tools.append({**one, **shown, "_meta": meta})
    return tools


@pytest.mark.parametrize("server", ["plain", "governed"])
@pytest.mark.parametrize("peer", STOCK, ids="-".join)
def test_mgp_1_3_2_a_stock_client_hears_nothing_of_mgp(
    visit: Visits, peer: Peer, server: str
) -> None:
    """MGP-1.1-1, MGP-1.1-2, MGP-1.3-1 and MGP-1.3-2: no member and no notification of MGP, whoever
    answers; `security` and `_mgp` of the MGP server stay behind."""
    found = visit(peer, server)
    listed, added, blocked, _ = found["script"]["answers"]
    assert listed["tools"] == WORDS["tools"]
    assert added == SUM
    assert blocked["isError"]
    assert found["script"]["asked"] == []
    assert found["mgp"] == []


@pytest.mark.parametrize("peer", STOCK, ids="-".join)
def test_mgp_1_3_3_an_mgp_client_is_served_in_front_of_a_plain_server(
    four: Gateway, visit: Visits, peer: Peer
) -> None:
    """MGP-1.3-3 and MGP-2.4-2: the kernel does its part, and the server hears nothing of MGP once it
    has left the offer unanswered."""
    found = visit(peer, "plain", offering=True)
    assert found["reply"] == {PLACES[peer.driver]: OFFER}
    _, added, blocked, heard = found["script"]["answers"]
    assert (added, blocked) == (SUM, BLOCKED)
    assert found["script"]["asked"] == []
    told = json.loads(heard["content"][0]["text"])
    assert "mgp" in told["capabilities"]
    assert [one for one in told["methods"] if "mgp" in one] == []
    trail = [
        (one["event_type"], one["target"]["tool_name"], one["details"]["validator_applied"])
        for one in four.audit()
        if one["event_type"].startswith("TOOL_") and one["target"]["server_id"] == "plain"
    ]
    assert trail[:3] == [
        ("TOOL_EXECUTED", "heard", "none"),
        ("TOOL_BLOCKED", "ask", "sandbox"),
        ("TOOL_EXECUTED", "add", "none"),
    ]


@pytest.mark.parametrize("peer", STOCK, ids="-".join)
def test_mgp_1_3_4_an_mgp_client_in_front_of_an_mgp_server_has_everything(
    visit: Visits, peer: Peer
) -> None:
    """MGP-1.3-4: what was negotiated is there, `security` on tools and `_mgp` on results."""
    found = visit(peer, "governed", offering=True)
    assert found["reply"] == {PLACES[peer.driver]: OFFER}
    listed, added, blocked, _ = found["script"]["answers"]
    assert listed["tools"] == secured(peer)
    members = {} if peer.driver == "sdk2" else {"_mgp": {"trace_id": "guest"}}
    assert added == {**SUM, **members, "_meta": {"dev.cloto/mgp": {"trace_id": "guest"}}}
    assert blocked == BLOCKED


def test_mgp_1_3_5_all_four_pairings_work_one_after_the_other(four: Gateway, visit: Visits) -> None:
    """MGP-1.3-5: one process, one configuration, one client that offers MGP or does not."""
    pid = four.pid
    sums = [
        visit(Peer("ts1", "http"), server, offering=offering)["script"]["answers"][1]
        for offering in (False, True)
        for server in ("plain", "governed")
    ]
    marks = {"_mgp": {"trace_id": "guest"}, "_meta": {"dev.cloto/mgp": {"trace_id": "guest"}}}
    assert sums == [SUM, SUM, SUM, {**SUM, **marks}]
    assert four.process.poll() is None
    assert four.pid == pid


@pytest.mark.parametrize("peer", [Peer("sdk1", "stdio"), Peer("sdk2", "stdio")], ids="-".join)
def test_mgp_4_2_2_stock_clients_tolerate_security_on_tools(peer: Peer) -> None:
    """MGP-4.2-2: on the wire of the server itself, nothing in between."""
    command = driver("ts2_server", "governed", "--mgp")
    found = seen(peer, [plan_of("governed", peer, command)])["governed"]
    names = [one["name"] for one in found["script"]["answers"][0]["tools"]]
    assert names == [one["name"] for one in WORDS["tools"]]
    assert "/result/tools/security" in found["mgp"]

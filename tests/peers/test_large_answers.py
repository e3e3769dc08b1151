"""Answers of 3 MiB to real clients, as plain JSON and behind what was said before the answer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import Peer, profiles, seen, target

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

SIZE = 3 << 20
INVALID_REQUEST = -32600
SERVER = """
import json, sys, time
def send(**message): print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    method, ident, params = asked["method"], asked.get("id"), asked.get("params") or {}
    if method == "initialize":
        send(id=ident, result={"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                               "serverInfo": {"name": "large", "version": "1"}})
    elif method == "tools/list":
        send(id=ident, result={"tools": [{"name": name, "inputSchema": {"type": "object"}}
                                         for name in ("plain", "told")]})
    elif method == "tools/call":
        time.sleep(0.3)  # longer than the gateway waits before it begins a stream that can be resumed
        token = params.get("_meta", {}).get("progressToken")
        if params["name"] == "told" and token is not None:
            send(method="notifications/progress", params={"progressToken": token, "progress": 1})
        text = "x" * (SIZE - 3) + "end"
        send(id=ident, result={"content": [{"type": "text", "text": text}]})
    elif ident is not None:
        send(id=ident, error={"code": -32601, "message": "no"})
""".replace("SIZE", str(SIZE))
PEERS = (
    Peer("sdk1", "http"),
    Peer("sdk1", "sse"),
    Peer("ts1", "http"),
    Peer("sdk2", "stdio"),
    *(Peer(name, "http", era) for name in ("sdk2", "ts2") for era in ("legacy", "modern")),
)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("large")
    (folder / "large.py").write_text(SERVER)
    one: dict[str, Any] = {
        "id": "large",
        "command": sys.executable,
        "args": [str(folder / "large.py")],
        "default_policy": "opt-out",
    }
    with running(folder, config(one, profiles=profiles(one))) as gateway:
        yield gateway


def unreadable(peer: Peer, name: str) -> bool:
    """The Python SDK 2 gives up on any event of more than 1 MiB (`max_sse_event_size`). In a session it hears of progress on the
    stream of its GET, and gets the answer as JSON. Without one there is no other stream: it gets an error that says so."""
    return peer.key == "sdk2_http_modern" and name == "told"


def answers(gateway: Gateway, peer: Peer, name: str) -> Any:
    exposed = f"large__{name}" if peer.wire == "sse" else name
    script = [["tools/call", {"name": exposed, "arguments": {}}]]
    visit = {"server": "large", "key": peer.key, "script": script}
    plan = [{"target": target(gateway, peer, "large"), "visits": [visit]}]
    found = seen(peer, plan)["large"]["script"]
    return found["answers"][0]


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.key)
@pytest.mark.parametrize("name", ["plain", "told"])
def test_an_answer_of_three_mebibytes_arrives_whole(large: Gateway, peer: Peer, name: str) -> None:
    found = answers(large, peer, name)
    if unreadable(peer, name):
        assert found == INVALID_REQUEST
        return
    assert isinstance(found, dict), found
    (block,) = found["content"]
    assert (len(block["text"]), block["text"][-3:]) == (SIZE, "end")

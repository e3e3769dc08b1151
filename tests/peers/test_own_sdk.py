"""Foreign clients visit a server that was written with the project's own SDK, with no gateway in between (MGP-4.2-2, CDM-con-3)."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from tests.peers.expected import visited
from tests.peers.peers import DRIVERS, NODE, PACKAGES, Peer, listening, run, seen

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

OWN = [sys.executable, str(DRIVERS / "own_server.py"), "own"]
PEERS = (
    Peer("sdk1", "http"),
    Peer("sdk1", "stdio"),
    Peer("ts1", "http"),
    Peer("sdk2", "http", "auto"),
    Peer("sdk2", "stdio", "modern"),
    Peer("ts2", "http", "legacy"),
    Peer("ts2", "stdio", "auto"),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The server over HTTP."""
    with listening([*OWN, "--http"]) as ready:
        yield ready.split()[1]


def plain(tool: dict[str, Any]) -> dict[str, Any]:
    """A definition without hints, of which the SDK writes all, and `_meta`, of which an author writes none."""
    return {key: value for key, value in tool.items() if key not in ("annotations", "_meta")}


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_a_stock_client_makes_its_whole_tour_through_a_server_of_the_sdk(
    url: str, peer: Peer
) -> None:
    where = OWN if peer.wire == "stdio" else url
    visits = [{"server": "own", "key": peer.key, "prefix": ""}]
    found = seen(peer, [{"target": where, "visits": visits}])["own"]
    # An error that names the resource is a typed one for the second TypeScript SDK, in the modern code.
    expected = visited(peer, "own", legacy_only=peer.driver != "ts2", direct=True)
    for shown in (found, expected):
        shown["tools"] = [plain(one) for one in shown["tools"]]
        shown["hello"]["offers"] = [
            one for one in shown["hello"]["offers"] if one != "experimental"
        ]
    for step in expected:
        assert found[step] == expected[step]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("era", ["auto", "legacy", "modern"])
def test_the_inspector_lists_and_calls_tools_of_the_sdk(url: str, era: str) -> None:
    inspector = [NODE, str(PACKAGES / ".bin" / "mcp-inspector"), "--cli", url]
    common = ["--transport", "http", "--protocol-era", era, "--format", "json", "--method"]
    listed = run([*inspector, *common, "tools/list"])
    assert listed.returncode == 0, listed.stderr
    assert "add" in [one["name"] for one in json.loads(listed.stdout)["result"]["tools"]]
    call = ["tools/call", "--tool-name", "add", "--tool-arg", "a=2", "--tool-arg", "b=3"]
    called = run([*inspector, *common, *call])
    assert called.returncode == 0, called.stderr
    assert json.loads(called.stdout)["result"]["structuredContent"] == {"sum": 5}

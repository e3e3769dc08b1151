"""Nothing undeclared passes: methods, notifications and answers of clients in front of a server that reads generously."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcp.wire.methods import WORDS
from tests.behaviour.answered import ANSWERED, answered
from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.messages import unlimited
from tests.behaviour.test_task_handles import keys
from tests.mcp.wire.names import spellings

DOORS = (
    "http 2025-11-25",
    "http 2026-07-28",
    "stdio 2025-11-25",
    "websocket 2025-11-25",
    "sse 2024-11-05",
)
WIPE = {"name": "wipe", "arguments": {}}
SPELLED = list(dict.fromkeys((*spellings("tools/call"), *spellings("tasks/get", drawn=50))))
NO_REQUESTS = (
    *(one.method for one in WORDS if not one.notification),
    "shutdown",
    "exit",
    "acme/report",
    "gatewright/server/stop",
)
NO_NOTIFICATIONS = (
    *(one.method for one in WORDS if one.notification),
    "notifications/vendor.x",
    "notifications/tools/call",
    "notifications/mgp.vendor",
    "Notifications/Initialized",
)
HARMLESS = {
    "server/discover",
    "initialize",
    "notifications/initialized",
    "tools/list",
    "notifications/roots/list_changed",
    "notifications/cancelled",
}
"""What the gateway sends on its own account, or for everybody."""


EXPECTED = [
    ("acme/report", "other", "success"),
    ("notifications/acme.seen", "other", "success"),
    ("notifications/vendor.seen", None, "denied"),
    ("vendor/report", None, "denied"),
    ("acme/tools/call", None, "denied"),
]
"""What the record says of each, with the server."""


def folding(folder: Path, ident: str = "folding", **more: Any) -> dict[str, Any]:
    script = str(ROOT / "tests" / "tool_servers" / "folding.py")
    log = str(folder / f"{ident}.log")
    return {"id": ident, "command": sys.executable, "args": [script, log], **more}


@pytest.fixture(scope="module")
def generous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("generous")
    declared = ["acme/*", "notifications/acme.*"]
    servers = (folding(folder), folding(folder, "other", methods=declared))
    grants = [
        *({"agent": "*", "server": one["id"]} for one in servers),
        *(
            {"agent": "*", "server": one["id"], "tool": "wipe", "permission": "deny"}
            for one in servers
        ),
    ]
    content = config(*servers, grants=grants, profiles={"small": {}}, mcp=unlimited())
    with running(folder, content) as gateway:
        yield gateway


def reached(gateway: Gateway, ident: str) -> list[tuple[str, list[str]]]:
    """What came to a server, and which tools it ran for it."""
    lines = (gateway.folder / f"{ident}.log").read_text().splitlines()
    return [(method, ran) for method, ran in map(json.loads, lines)]


def ran(gateway: Gateway) -> list[Any]:
    """What a server ran, and what it was sent that the gateway had no reason to send."""
    found = [one for ident in ("folding", "other") for one in reached(gateway, ident)]
    return [one for one in found if one[1] or one[0] not in HARMLESS]


async def arrived(client: Host, gateway: Gateway, last: str) -> None:
    """A notification is on its way when nobody hears of it any more; other calls go on meanwhile."""
    async with asyncio.timeout(20):
        while last not in [method for method, _ in reached(gateway, "other")]:
            await client.call("other__fine")


async def settle(client: Host) -> None:
    """All that was sent before has been dealt with."""
    assert {one["name"] for one in (await client.request("tools/list"))["tools"]}


async def refusals(client: Host, methods: list[str]) -> list[RpcError]:
    async def one(method: str) -> RpcError:
        with pytest.raises(RpcError) as caught:
            await client.request(method, dict(WIPE))
        return caught.value

    found = []
    for n in range(0, len(methods), 50):
        found += await asyncio.gather(*map(one, methods[n : n + 50]))
    return found


@pytest.mark.parametrize("door", DOORS)
async def test_no_spelling_of_a_method_reaches_a_server(generous: Gateway, door: str) -> None:
    """C-62, MGP-1.2-4: as a request. What is refused is told why."""
    async with host(generous, door) as client:
        told = await refusals(client, SPELLED)
        headers = {-32020} if client.modern else set()  # some cannot be repeated in a header
        assert {one.code for one in told} <= {-32601, *headers}
        assert (
            sum("tools/call is, and is spelled so" in one.message for one in told) > 300
            or client.modern
        )
        await settle(client)
    assert ran(generous) == []


@pytest.mark.parametrize("door", DOORS)
async def test_nothing_without_an_id_runs_anything(generous: Gateway, door: str) -> None:
    """As a notification: spelled rightly or not, whatever it is called."""
    async with host(generous, door) as client:
        for method in (*NO_REQUESTS, *NO_NOTIFICATIONS, *SPELLED[::4]):
            await client.say({"method": method, "params": dict(WIPE)})
        await settle(client)
    assert ran(generous) == []


@pytest.mark.parametrize("door", DOORS)
async def test_a_method_that_is_not_declared_is_not_found(generous: Gateway, door: str) -> None:
    async with host(generous, door) as client:
        methods = ["vendor/thing", "shutdown", "tools/export", "sampling/createMessage", "mgp/x"]
        told = await refusals(client, methods)
        assert {one.code for one in told} == {-32601}
    assert ran(generous) == []


@pytest.mark.parametrize("way", list(ANSWERED))
async def test_no_spelling_runs_anything_where_callers_are_only_answered(
    generous: Gateway, way: str
) -> None:
    (ann,) = keys(generous.folder, "ann")
    key = ann["authorization"].removeprefix("Bearer ")
    async with answered(generous, way, key) as client:
        for number, method in enumerate((*SPELLED[::7], "vendor/thing", "shutdown")):
            if "/" in method and way == "rest" and ".." in method:
                continue  # which clients resolve before they send it
            asked = {"method": method, "params": dict(WIPE)}
            assert await client.becomes({"id": f"m{number}", **asked}) == "refused", method
            await client.send(asked)
    assert ran(generous) == []


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("ident", [None, 1.5, True, [1], {}, "x" * 500])
async def test_an_id_of_another_type_makes_no_notification(
    generous: Gateway, door: str, ident: Any
) -> None:
    async with host(generous, door) as client:
        await client.say({"id": ident, "method": "tools/call", "params": dict(WIPE)})
        await client.say({"id": ident, "result": {"content": []}})
        await settle(client)
    assert ran(generous) == []


async def test_the_members_of_a_batch_are_judged_one_by_one(generous: Gateway) -> None:
    async with host(generous, "stdio 2025-03-26") as client:
        every = [
            {"jsonrpc": "2.0", "method": "tools/call", "params": WIPE},
            {"jsonrpc": "2.0", "method": "Tools/Call", "params": WIPE},
            {"jsonrpc": "2.0", "id": None, "method": "tools/call", "params": WIPE},
        ]
        await client.wire.send(json.dumps(every).encode(), client)
        await client.wire.send(json.dumps([every]).encode(), client)
        await settle(client)
    assert ran(generous) == []


@pytest.mark.parametrize("door", DOORS)
async def test_what_is_declared_is_gated_and_recorded_with_its_server(
    tmp_path: Path, door: str
) -> None:
    """C-62: a call with target, gates and record, for a notification too."""
    declared = ["acme/*", "notifications/acme.*"]
    servers = folding(tmp_path), folding(tmp_path, "other", methods=declared), server("echo")
    with running(
        tmp_path,
        config(
            *servers,
            grants=[{"agent": "*", "server": "other"}, {"agent": "*", "server": "folding"}],
        ),
    ) as gateway:
        async with host(gateway, door) as client:
            assert await client.request("acme/report", {"n": 1}) is not None
            await client.say({"method": "notifications/acme.seen", "params": {"n": 2}})
            await client.say({"method": "notifications/vendor.seen", "params": {"n": 3}})
            await client.say({"method": "acme/report", "params": {"n": 4}})
            await refusals(client, ["vendor/report", "acme/tools/call"])
            await arrived(client, gateway, "notifications/acme.seen")
            await settle(client)
            folder = getattr(client.wire, "folder", None)
        assert [one for one, _ in reached(gateway, "other") if "acme" in one] == [
            "acme/report",
            "notifications/acme.seen",
        ]
        assert not [one for one, _ in reached(gateway, "folding") if "acme" in one]
        if folder is not None:
            return  # another gateway's, whose record is the same
        told = [
            (one["method"], one["target"].get("server_id"), one["outcome"])
            for one in gateway.audit()
            if "method" in one and ("acme" in one["method"] or "vendor" in one["method"])
        ]
        assert sorted(told) == sorted(EXPECTED)

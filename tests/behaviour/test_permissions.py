"""Servers that need permissions, behind a real gateway: who decides, when they are connected, what reaches calls that run."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gatewright.access.permissions import Permissions, Word
from gatewright.approvals.request import Approval
from tests.approvals.voting import Voting
from tests.behaviour.access_house import promptly
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, Host, RpcError, host
from tests.behaviour.wires import StdioWire
from tests.servers.web import web
from tests.storage.parts import operated_state_in, state_in

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "discovery"]}}
DEADLINE = 30
SPOKEN = ["security", "audit"]


def permits(ident: str, needs: str, *more: str, **mgp: Any) -> dict[str, Any]:
    said = {"extensions": SPOKEN, **mgp}
    return server("permits", ident, "--needs", needs, *more, mgp=said)


CONTENT = config(
    permits("waiter", "filesystem.write"),
    permits("meek", "camera", missing_permissions="degrade"),
    permits("yolo", "shell.execute,camera", permission_policy="auto_approve"),
    permits(
        "closed",
        "memory.read,camera",
        permission_policy="deny_all",
        permissions_required=["memory.read"],
    ),
    permits(
        "partly",
        "camera,memory.read",
        permission_policy="deny_all",
        permissions_required=["memory.read"],
        missing_permissions="degrade",
    ),
    permits(
        "listed",
        "system.info",
        permission_policy="config_only",
        permissions_required=["system.info"],
    ),
    permits("unlisted", "network", permission_policy="config_only"),
    permits("odd", "shell,com.example.custom_permission", missing_permissions="degrade"),
    permits("plain", "", "--extensions", "audit"),
    approvals={"hold_s": 1.0},
)


class House:
    """A gateway, and its queue and its permissions as an operator's command opens them."""

    def __init__(self, gateway: Gateway, folder: Path) -> None:
        self.gateway = gateway
        self.queue = Voting(operated_state_in(folder / "state"), clock=time.time, random=os.urandom)
        self.said = Permissions(state_in(folder / "state"), clock=time.time)

    def waiting(self, ident: str) -> list[Approval]:
        return [one for one in self.queue.waiting() if one.server == ident]

    def say(self, ident: str, permission: str, value: Any, **more: Any) -> None:
        self.said.put(Word(ident, permission, value, "olga", **more))

    def close(self) -> None:
        self.queue.close()
        self.said.close()


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with running(tmp_path_factory.mktemp("permits"), CONTENT) as gateway:
        made = House(gateway, gateway.folder)
        yield made
        made.close()


async def until(true: Callable[[], Any], seconds: float = DEADLINE) -> Any:
    """What becomes true."""
    async with asyncio.timeout(seconds):
        while not (found := true()):
            await asyncio.sleep(0.02)
    return found


async def becomes(client: Host, name: str, passes: bool) -> None:
    """A call that comes to pass, or not to pass any more."""
    async with asyncio.timeout(DEADLINE):
        while (await outcome(client, name) == "passed") != passes:
            await asyncio.sleep(0.02)


async def outcome(client: Host, name: str) -> Any:
    try:
        await client.call(name)
    except RpcError as problem:
        return problem
    return "passed"


async def status(client: Host, ident: str) -> dict[str, Any]:
    found = (await client.request("mgp/discovery/list"))["servers"]
    return next(one for one in found if one["id"] == ident)


@asynccontextmanager
async def operator(house: House) -> AsyncIterator[Host]:
    headers = {"authorization": f"Bearer {house.gateway.operator_token}"}
    async with host(house.gateway, can=OFFER, headers=headers) as client:
        yield client


@pytest.mark.parametrize("door", DOORS)
async def test_a_server_is_offered_once_an_operator_has_approved_what_it_needs(
    house: House, door: str
) -> None:
    """MGP-3.3-1, MGP-3.4-1, MGP-3.6-2 and MGP-3.6-4; revoked afterwards, as MGP-6.4-5 has it."""
    async with host(house.gateway, door, can=OFFER) as client:
        alone = isinstance(client.wire, StdioWire)
        mine = House(house.gateway, client.wire.folder) if alone else house  # type: ignore[attr-defined]
        mine.say("waiter", "filesystem.write", "approved", expires=time.time())  # is over at once
        (one,) = await until(lambda: mine.waiting("waiter"))
        assert (one.kind, one.tool, one.risk) == ("server", "filesystem.write", "dangerous")
        assert not [name for name in await client.tools() if name.startswith("waiter")]
        refused = await outcome(client, "waiter__guarded")
        assert refused.code == 1000
        assert refused.data["_mgp"]["retryable"] is True
        assert refused.data["reason"] == "permission_deferred"
        mine.queue.approve(one.id, by="olga")
        await becomes(client, "waiter__guarded", passes=True)
        assert "waiter__guarded" in await client.tools()
        mine.queue.deny(one.id, by="olga")
        async with promptly():
            await becomes(client, "waiter__guarded", passes=False)
        assert not [name for name in await client.tools() if name.startswith("waiter")]
        if alone:
            mine.close()


async def test_a_server_is_told_that_it_waits_and_its_answer_decides_nothing(
    tmp_path: Path,
) -> None:
    """MGP-3.5-1 from the kernel to the server, and the order of decision C-10."""
    with running(tmp_path, config(permits("waiter", "filesystem.write"))) as gateway:
        house = House(gateway, tmp_path)
        async with host(gateway, can=OFFER) as client:
            (one,) = await until(lambda: house.waiting("waiter"))
            ours = ("--key", gateway.operator_token)
            (shown,) = json.loads(gateway.cli("approve", "--json", *ours))
            assert (shown["id"], shown["kind"]) == (one.id, "server")
            assert (await outcome(client, "waiter__open")).code == 1000
            gateway.cli("approve", one.id, *ours)
            await becomes(client, "waiter__open", passes=True)
            seen = json.loads(await client.text("waiter__seen"))
        house.close()
        said = {one["method"]: one["params"] for one in seen}
        assert said["mgp/permission/request"] == {
            "request_id": "waiter-1",
            "permissions": ["filesystem.write"],
            "policy": "interactive",
            "message": "Waiting for operator approval",
        }
        order = [
            "initialize",
            "mgp/permission/request",
            "notifications/initialized",
            "tools/list",
        ]
        assert sorted(order, key=list(said).index) == order
        (record,) = gateway.audit("--event", "PERMISSION_GRANTED")
        assert record["actor"] == {"type": "operator", "id": "local"}
        assert record["target"] == {"server_id": "waiter"}
        assert record["details"]["permission"] == "filesystem.write"


def decisions(house: House, ident: str, event: str) -> dict[str, str]:
    """Permission → who decided, of the events about one server."""
    found = house.gateway.audit("--event", event, "--server", ident)
    return {one["details"]["permission"]: one["details"]["decided_by"] for one in found}


async def test_auto_approve_asks_nobody_and_records_each(house: House) -> None:
    """MGP-3.1-1, MGP-3.3-2 and MGP-6.4-3"""
    async with host(house.gateway, can=OFFER) as client:
        assert await client.text("yolo__guarded") == "guarded"
    assert not house.waiting("yolo")
    by = "policy auto_approve"
    assert decisions(house, "yolo", "PERMISSION_GRANTED") == {"shell.execute": by, "camera": by}
    (warned,) = [line for line in house.gateway.said() if "nobody is asked" in line]
    assert "warning: " in warned


async def test_deny_all_denies_what_was_not_configured_and_the_server_stays_out(
    house: House,
) -> None:
    """MGP-3.3-3, MGP-3.4-2 and MGP-6.4-4"""
    async with operator(house) as client:
        found = await status(client, "closed")
        assert found["status"] == "error"
        assert "camera" in found["reason"]
        assert found["permissions"] == {"memory.read": "approved", "camera": "denied"}
    assert decisions(house, "closed", "PERMISSION_GRANTED") == {"memory.read": "configuration"}
    assert decisions(house, "closed", "PERMISSION_DENIED") == {"camera": "policy deny_all"}
    assert not house.waiting("closed")


async def test_a_server_may_do_with_less_where_the_configuration_says_so(
    house: House,
) -> None:
    """MGP-3.6-3: its guarded tools are refused with 1000, the others work."""
    async with host(house.gateway, can=OFFER) as client:
        assert await client.text("partly__open") == "open"
        refused = await outcome(client, "partly__guarded")
        assert refused.code == 1000
        assert refused.data["reason"] == "permission_denied"
        assert refused.data["_mgp"]["retryable"] is False


async def test_config_only_takes_the_configuration_alone(house: House) -> None:
    """MGP-3.3-4; `network` is shorthand for network.outbound (C-07)."""
    async with host(house.gateway, can=OFFER) as client:
        assert await client.text("listed__guarded") == "guarded"
        assert (await outcome(client, "unlisted__open")).code == 1000
        house.say("unlisted", "network.outbound", "approved")
        await until(lambda: decisions(house, "unlisted", "PERMISSION_GRANTED"))
        assert (await outcome(client, "unlisted__open")).code == 1000
    assert decisions(house, "unlisted", "PERMISSION_DENIED") == {
        "network.outbound": "policy config_only"
    }
    assert not house.waiting("unlisted")


async def test_a_deferred_permission_comes_to_work_without_a_new_connection(
    house: House,
) -> None:
    """MGP-3.6-4 and MGP-3.6-5"""
    async with host(house.gateway, can=OFFER) as client:
        assert await client.text("meek__open") == "open"
        refused = await outcome(client, "meek__guarded")
        assert (refused.code, refused.data["reason"]) == (1000, "permission_deferred")
        (one,) = house.waiting("meek")
        before = json.loads(await client.text("meek__seen"))
        house.queue.approve(one.id, by="olga", scope="arguments", lasts_s=4.0)
        await becomes(client, "meek__guarded", passes=True)
        after = json.loads(await client.text("meek__seen"))
        assert after[: len(before)] == before
        await becomes(client, "meek__guarded", passes=False)
        await until(lambda: house.waiting("meek"))  # and it is asked again


async def test_a_revocation_ends_the_calls_that_run(house: House) -> None:
    """MGP-6.4-5: live sessions and running calls feel it within a second, and the record has who said so and why."""
    async with host(house.gateway, can=OFFER) as client:
        house.say("meek", "camera", "approved")
        await becomes(client, "meek__guarded", passes=True)
        lingering = asyncio.ensure_future(outcome(client, "meek__linger"))
        async with asyncio.timeout(DEADLINE):
            while '"linger"' not in await client.text("meek__seen"):
                await asyncio.sleep(0.02)
        house.say("meek", "camera", "denied", comment="enough")
        async with promptly():
            ended = await lingering
        assert (ended.code, ended.data["reason"]) == (1000, "permission_denied")
        assert (await outcome(client, "meek__guarded")).code == 1000
        assert await client.text("meek__open") == "open"
    found = house.gateway.audit("--event", "PERMISSION_REVOKED", "--server", "meek")
    (record,) = [one for one in found if one["details"].get("comment") == "enough"]
    assert record["actor"] == {"type": "operator", "id": "olga"}


async def test_custom_permissions_and_shorthand_go_end_to_end(house: House) -> None:
    """MGP-3.2-2 and MGP-3.2-3"""
    (custom, shell) = sorted(house.waiting("odd"), key=lambda one: one.tool)
    assert (custom.tool, custom.risk) == ("com.example.custom_permission", "dangerous")
    assert shell.tool == "shell.execute"
    house.queue.deny(custom.id, by="olga", comment="not here")
    house.queue.approve(shell.id, by="olga")
    async with host(house.gateway, can=OFFER) as client:
        await becomes(client, "odd__guarded", passes=True)
    denied = await until(lambda: decisions(house, "odd", "PERMISSION_DENIED"))
    assert denied == {"com.example.custom_permission": "olga"}


SEED = {
    "request_id": "perm-001",
    "permissions": ["shell.execute", "filesystem.read"],
    "policy": "interactive",
    "message": "Waiting for operator approval",
}


async def test_a_server_that_asks_hears_the_decision_in_the_words_of_the_specification(
    house: House,
) -> None:
    """MGP-3.5-1 and MGP-3.6-1: the message of §3.5 as it stands there, under both its names."""
    async with host(house.gateway, can=OFFER) as client:
        asked = {"method": "mgp/permission/request", **SEED}
        first = json.loads(await client.text("partly__ask", **asked))
        assert first == {
            "request_id": "perm-001",
            "grants": {"shell.execute": "denied", "filesystem.read": "denied"},
            "approved_by": "policy deny_all",
            "expires_at": None,
        }
        waiting = json.loads(
            await client.text("odd__ask", **asked | {"permissions": ["memory.write"]})
        )
        assert waiting["grants"] == {"memory.write": "deferred"}
        async with operator(house) as boss:
            ruling = {
                "request_id": "perm-001",
                "grants": {"memory.write": "approved"},
                "approved_by": "admin",
                "expires_at": "2036-03-01T00:00:00Z",
            }
            with pytest.raises(RpcError, match="server_id"):  # two servers asked under this id
                await boss.request("mgp/permission/response", ruling)
            told = await boss.request("mgp/permission/response", ruling | {"server_id": "odd"})
        assert told == ruling | {"approved_by": "local"}
        again = {"method": "mgp/permission/await", **SEED, "permissions": ["memory.write"]}
        assert json.loads(await client.text("odd__ask", **again)) == told


async def test_a_server_cannot_decide_about_itself_nor_can_an_agent(house: House) -> None:
    """Decisions C-08 and C-09"""
    ruling = {"request_id": "perm-001", "grants": {"camera": "approved"}, "server_id": "closed"}
    async with host(house.gateway, can=OFFER) as client:
        for method in ("mgp/permission/response", "mgp/permission/grant"):
            answer = json.loads(await client.text("partly__ask", method=method, **ruling))
            assert "code" in answer
            with pytest.raises(RpcError):
                await client.request(method, ruling)
        bad: dict[str, Any]
        for bad in ({"permissions": []}, {"permissions": [1]}, {"request_id": 1}):
            asked = {"method": "mgp/permission/request", **SEED, **bad}
            assert json.loads(await client.text("partly__ask", **asked))["code"] == -32602
        plain = await client.text("plain__ask", method="mgp/permission/request", **SEED)
        assert json.loads(plain)["code"] == -32601
        told = await client.request("mgp/permission/request", SEED)
        assert set(told["grants"].values()) == {"deferred"}
    async with operator(house) as boss:
        assert (await status(boss, "closed"))["permissions"]["camera"] == "denied"


async def test_a_server_over_http_waits_as_well(tmp_path: Path) -> None:
    """MGP-3.4-1: the session is open and nothing was asked of it but hello."""
    async with web("permits", "--needs", "camera") as url:
        remote = {"id": "remote", "url": url, "mgp": {"extensions": SPOKEN}}
        with running(tmp_path, config(remote)) as gateway:
            house = House(gateway, tmp_path)
            async with host(gateway, can=OFFER) as client:
                (one,) = await until(lambda: house.waiting("remote"))
                assert (await outcome(client, "remote__open")).code == 1000
                house.queue.approve(one.id, by="olga")
                await becomes(client, "remote__open", passes=True)
                seen = [one["method"] for one in json.loads(await client.text("remote__seen"))]
                assert seen.index("initialize") < seen.index("notifications/initialized")
                assert "tools/list" not in seen[: seen.index("notifications/initialized")]
                house.queue.deny(one.id, by="olga")
                async with promptly():
                    await becomes(client, "remote__open", passes=False)
            house.close()


@pytest.mark.parametrize("door", DOORS)
async def test_a_server_that_claims_to_be_the_record_is_not_heard(house: House, door: str) -> None:
    """MGP-6.3-1: what is recorded is the gateway's to say, also in the middle of a call."""
    offer = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}
    async with host(house.gateway, door, can=offer) as client:
        assert await client.text("yolo__forge") == "forge"
        claims = [one for one in client.notes if one["method"] == "notifications/mgp.audit"]
        assert "PERMISSION_GRANTED" not in [one["params"]["event_type"] for one in claims]

"""MGP §5: who may use what, asked and changed through every door."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from gatewright.access.grants import Grant
from gatewright.access.issued_grants import Issued
from tests.behaviour.access_house import (
    FIVE,
    KEYED,
    OFFER,
    House,
    about,
    code_of,
    passes,
    promptly,
    seed_grant,
)
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, RpcError, host
from tests.behaviour.wires import StdioWire
from tests.storage.parts import state_in

# -- the three methods ---------------------------------------------------------------------------


@pytest.mark.parametrize("door", KEYED)
async def test_a_grant_is_asked_about_given_and_taken_back(house: House, door: str) -> None:
    """MGP-5.4-1, MGP-5.4-2 and MGP-5.4-3: the requests of the specification, at every door."""
    agent, _ = house.agent()
    async with house.operator(door) as client:
        before = await client.request("mgp/access/query", about(agent))
        assert FIVE <= set(before) <= FIVE | {"resultType", "_meta"}
        assert (before["permission"], before["source"]) == ("deny", "default_policy")
        await client.request("mgp/access/grant", seed_grant(agent))
        after = await client.request("mgp/access/query", about(agent))
        assert (after["permission"], after["source"]) == ("allow", "server_grant")
        assert (after["granted_by"], after["expires_at"]) == ("admin", None)
        assert after["granted_at"].endswith("Z")
        revoke = {"agent_id": agent, "server_id": "echo", "entry_type": "server_grant"}
        await client.request("mgp/access/revoke", revoke)
        gone = await client.request("mgp/access/query", about(agent))
        assert {name: gone[name] for name in FIVE} == {name: before[name] for name in FIVE}
        assert await code_of(client, "mgp/access/revoke", revoke) == -32602


@pytest.mark.parametrize("door", KEYED)
async def test_a_tool_grant_names_its_tool(house: House, door: str) -> None:
    """MGP-5.4-4."""
    agent, _ = house.agent()
    async with house.operator(door) as client:
        for flawed in (
            seed_grant(agent, entry_type="tool_grant"),
            seed_grant(agent, entry_type="tool_grant", tool_name=""),
            seed_grant(agent, tool_name="echo"),
            seed_grant(agent, entry_type="door_grant"),
            seed_grant(agent, permission="perhaps"),
            seed_grant(agent, expires_at="tomorrow"),
            seed_grant(""),
            {"server_id": "echo"},
        ):
            assert await code_of(client, "mgp/access/grant", flawed) == -32602
        found = await client.request("mgp/access/query", about(agent))
        assert found["source"] == "default_policy"


@pytest.mark.parametrize("door", KEYED)
async def test_an_agent_neither_grants_nor_asks_about_others(house: House, door: str) -> None:
    """MGP-5.4-6: whoever exists or does not, the answer is the same."""
    agent, key = house.agent()
    other, _ = house.agent()
    async with house.host(door, key) as client:
        assert await code_of(client, "mgp/access/grant", seed_grant(agent)) == 1000
        assert await code_of(client, "mgp/access/revoke", about(agent)) == 1000
        errors = set()
        for name in (other, "nobody-of-that-name", "local"):
            with pytest.raises(RpcError) as caught:
                await client.request("mgp/access/query", about(name))
            data = {k: v for k, v in caught.value.data.items() if k != "trace_id"}
            errors.add((caught.value.code, caught.value.message, json.dumps(data)))
        assert len(errors) == 1
        mine = await client.request("mgp/access/query", about(agent))
        assert mine["permission"] == "deny"
        assert not await passes(client, "echo__echo")


@pytest.mark.parametrize("method", ["query", "grant", "revoke"])
@pytest.mark.parametrize("door", DOORS)
async def test_what_was_not_negotiated_does_not_exist_for_anybody(
    house: House, door: str, method: str
) -> None:
    """MGP-1.2-2."""
    without = {"mgp": {"version": "0.2.0", "extensions": ["security"]}}
    async with house.host(door, house.gateway.operator_token, without) as client:
        assert await code_of(client, f"mgp/access/{method}", seed_grant("x")) == -32601


async def test_whoever_owns_the_pipes_is_no_operator(house: House) -> None:
    """MGP-5.4-6 at the stdio door: its host runs agents."""
    async with host(house.gateway, "stdio 2025-11-25", can=OFFER) as client:
        assert await code_of(client, "mgp/access/grant", seed_grant("local")) == 1000
        assert (await client.request("mgp/access/query", about("local")))["permission"] == "allow"


async def test_changes_are_in_the_record_with_who_made_them(house: House) -> None:
    """MGP-1.2-5, MGP-6.4-6 and MGP-6.4-7, and MGP-5.4-3: each once."""
    agent, _ = house.agent()
    trace = "99999999-2222-4333-8444-555555555555"
    async with house.operator() as client:
        grant = seed_grant(agent, entry_type="tool_grant", tool_name="echo")
        await client.request("mgp/access/grant", {**grant, "trace_id": trace})
        await client.request("mgp/access/revoke", {**about(agent), "trace_id": trace})
    written = house.gateway.audit("--trace", trace)
    kinds = [one["event_type"] for one in written if one["event_type"].startswith("ACCESS_")]
    assert sorted(kinds) == ["ACCESS_GRANTED", "ACCESS_REVOKED"]
    found = {one["event_type"]: one for one in written}
    for kind in kinds:
        assert found[kind]["actor"] == {"type": "operator", "id": "local"}
        assert found[kind]["target"] == {"server_id": "echo", "tool_name": "echo"}
        assert found[kind]["details"]["agent_id"] == agent
        assert found[kind]["details"]["granted_by"] == "admin"


# -- what they mean for calls --------------------------------------------------------------------


@pytest.mark.parametrize("door", KEYED)
async def test_the_closest_level_decides_what_can_be_called(house: House, door: str) -> None:
    """MGP-5.2-1, MGP-5.2-2, MGP-5.2-3, MGP-5.3-1, MGP-5.5-1 and MGP-5.5-2."""
    agent, key = house.agent()
    async with house.operator() as operator, house.host(door, key) as client:

        async def say(server_: str, tool: str | None, permission: str) -> None:
            kind = "server_grant" if tool is None else "tool_grant"
            await operator.request(
                "mgp/access/grant",
                seed_grant(
                    agent,
                    entry_type=kind,
                    server_id=server_,
                    tool_name=tool,
                    permission=permission,
                ),
            )

        async def may() -> tuple[bool, bool]:
            return await passes(client, "echo__echo"), await passes(client, "open__echo")

        assert await may() == (False, True)
        await say("open", None, "deny")
        await say("echo", None, "allow")
        assert await may() == (True, False)
        await say("open", "echo", "allow")
        await say("echo", "echo", "deny")
        assert await may() == (False, True)
        listed = set(await client.tools())
        assert ("echo__echo" in listed, "open__echo" in listed) == (False, True)
        await operator.request("mgp/access/revoke", about(agent))
        assert await may() == (True, True)


async def test_a_grant_that_has_expired_counts_for_nothing(house: House) -> None:
    """MGP-5.4-5."""
    agent, key = house.agent()
    async with house.operator() as operator, house.host("http 2025-11-25", key) as client:
        past = seed_grant(agent, expires_at="2001-01-01T00:00:00Z")
        await operator.request("mgp/access/grant", past)
        found = await operator.request("mgp/access/query", about(agent))
        assert (found["permission"], found["source"]) == ("deny", "default_policy")
        assert not await passes(client, "echo__echo")
        until = time.time() + 1.5
        soon = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(int(until) + 1))
        await operator.request("mgp/access/grant", seed_grant(agent, expires_at=soon))
        assert await passes(client, "echo__echo")
        async with asyncio.timeout(20):
            while await passes(client, "echo__echo"):
                await asyncio.sleep(0.1)
        await client.note("notifications/tools/list_changed", lambda _: True)


async def test_what_the_file_forbids_cannot_be_granted_and_not_be_revoked(
    house: House,
) -> None:
    """MGP-5.2-1: within one level deny beats allow, wherever each was written."""
    async with house.operator() as operator:
        await operator.request("mgp/access/grant", seed_grant("reader"))
        found = await operator.request("mgp/access/query", about("reader"))
        assert (found["permission"], found["source"]) == ("deny", "server_grant")
        assert found["granted_by"].startswith("config ")
        revoke = {"agent_id": "reader", "server_id": "echo"}
        await operator.request("mgp/access/revoke", revoke)
        with pytest.raises(RpcError) as caught:
            await operator.request("mgp/access/revoke", revoke)
        assert "mgp.toml:" in caught.value.message


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_one_denial_holds_at_every_door(house: House, door: str) -> None:
    """MGP-5.5-3, as far as there are doors: at each of them the kernel refuses."""
    if door.startswith("stdio"):
        async with host(house.gateway, door, can=OFFER) as client:
            with issued(client.wire) as store:
                store.grant(Grant("local", "echo", None, "deny"), by="test")
            async with promptly():
                while await passes(client, "echo__echo"):
                    await asyncio.sleep(0.05)
            assert "echo__echo" not in await client.tools()
        return
    _, key = house.agent()
    async with house.host(door, key) as client:
        assert not await passes(client, "echo__echo")
        assert "echo__echo" not in await client.tools()


async def test_a_grant_ends_at_a_moment_that_can_be_shown(house: House) -> None:
    """MGP-5.4-2: what was issued with another could not be asked about any more."""
    agent, _ = house.agent()
    async with house.operator() as client:
        never = seed_grant(agent, expires_at="9999-12-31T23:59:59-12:00")
        with pytest.raises(RpcError) as caught:
            await client.request("mgp/access/grant", never)
        assert caught.value.code == -32602
        found = await client.request("mgp/access/query", about(agent))
        assert (found["permission"], found["source"]) == ("deny", "default_policy")


# -- live sessions and running calls -------------------------------------------------------------


def issued(wire: Any, gateway: Gateway | None = None) -> Any:
    """The store of a gateway that runs, opened by another process: this one."""
    folder: Path = wire.folder if isinstance(wire, StdioWire) else gateway.folder  # type: ignore[union-attr]

    class Store:
        def __enter__(self) -> Issued:
            self.store = Issued(state_in(folder / "state"), clock=time.time)
            return self.store

        def __exit__(self, *exc: object) -> None:
            self.store.close()

    return Store()


@pytest.mark.parametrize("door", DOORS)
async def test_a_revocation_ends_the_running_call_and_is_told_to_the_session(
    house: House, door: str
) -> None:
    """MGP-5.4-3, felt within a second by calls that run, lists and later calls."""
    agent, key = ("local", "") if door.startswith("stdio") else house.agent()
    async with house.host(door, key) as client:
        with issued(client.wire, house.gateway) as store:
            store.grant(Grant(agent, "asker"), by="test")
            async with asyncio.timeout(20):
                while "asker__slow" not in await client.tools():
                    await asyncio.sleep(0.05)
            slow = {"name": "asker__slow", "arguments": {"seconds": 60}}
            slow["_meta"] = {"progressToken": 1}
            ident = await client.start("tools/call", slow)
            await client.note("notifications/progress")
            client.notes.clear()
            store.grant(Grant(agent, "asker", None, "deny"), by="test")
            async with promptly():
                with pytest.raises(RpcError) as caught:
                    await client.finish(ident)
                if not client.modern:
                    await client.note("notifications/tools/list_changed")
        assert caught.value.code == 1001
        assert "ended while it ran" in caught.value.message
        assert "asker__slow" not in await client.tools()
        assert not await passes(client, "asker__slow")


async def test_a_modern_subscription_hears_that_a_grant_came_and_went(house: House) -> None:
    """The same for `subscriptions/listen` of MCP 2026-07-28."""
    agent, key = house.agent()
    async with house.host("http 2026-07-28", key) as client:
        await client.start("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        await client.note("notifications/subscriptions/acknowledged")
        with issued(client.wire, house.gateway) as store:
            for change in ("come", "go"):
                if change == "come":
                    store.grant(Grant(agent, "echo", "echo"), by="test")
                else:
                    store.revoke((agent, "echo", "echo"), by="test")
                async with promptly():
                    await client.note("notifications/tools/list_changed")
                assert ("echo__echo" in await client.tools()) is (change == "come")


async def test_nobody_else_is_told_or_interrupted(house: House) -> None:
    """What changes for one agent is no business of another."""
    first, one = house.agent()
    second, two = house.agent()
    async with (
        house.host("http 2025-11-25", one) as ann,
        house.host("http 2025-11-25", two) as bob,
    ):
        with issued(ann.wire, house.gateway) as store:
            for agent in (first, second):
                store.grant(Grant(agent, "asker"), by="test")
            for client in (ann, bob):
                await client.note("notifications/tools/list_changed")
            slow = {"name": "asker__slow", "arguments": {"seconds": 2}}
            slow["_meta"] = {"progressToken": 1}
            ident = await bob.start("tools/call", slow)
            await bob.note("notifications/progress")
            store.revoke((first, "asker", None), by="test")
            await ann.note("notifications/tools/list_changed")
        assert (await bob.finish(ident))["content"][0]["text"] == "awake"
        told = [one["method"] for one in bob.notes]
        assert "notifications/tools/list_changed" not in told


async def test_what_was_issued_survives_the_gateway(tmp_path: Path) -> None:
    """MGP-5.4-2: a grant is no matter of one process."""
    content = config(server("echo"), grants=[], gateway={"anonymous": "allow"})
    with running(tmp_path, content) as gateway:
        async with House(gateway).operator() as operator:
            await operator.request("mgp/access/grant", seed_grant("anonymous"))
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            assert await passes(client, "echo__echo")

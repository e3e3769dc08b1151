"""A changed configuration is taken over while the gateway runs, as a whole or not at all."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.behaviour.gateway import DEADLINE, Gateway, as_toml, config, running, server
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import RpcError, host
from tests.behaviour.test_names_away import registration
from tests.behaviour.wires import StdioWire
from tests.servers.rig import alive

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "access_control", "discovery"]}}
LIST_CHANGED = "notifications/tools/list_changed"
DOORS = ("http 2025-11-25", "websocket 2025-11-25")
ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def until_gone(pid: int) -> None:
    async with asyncio.timeout(DEADLINE):
        while alive(pid):
            await asyncio.sleep(0.01)


def last(gateway: Gateway, event: str) -> dict[str, Any]:
    """The last event of a kind, without what is different each time."""
    found: dict[str, Any] = gateway.audit("--event", f"dev.gatewright.config.{event}")[-1]
    return {"outcome": found["outcome"], **found["details"]}


@pytest.mark.parametrize("door", DOORS)
async def test_a_grant_that_is_taken_away_counts_from_the_next_call(
    tmp_path: Path, door: str
) -> None:
    """And the list is told to have changed; the child keeps its process."""
    with running(tmp_path, config(server("echo")), own_children=True) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            assert await client.text("echo__echo", message="before") == "before"
            before = gateway.children()
            line = gateway.reload(config(server("echo"), grants=[]))
            assert "grants.* echo/*" in line
            with pytest.raises(RpcError) as caught:
                await client.call("echo__echo", message="after")
            assert caught.value.data["reason"] == "access_denied"
            await client.note(LIST_CHANGED)
            assert await client.tools() == []
            assert gateway.children() == before
        event = last(gateway, "applied")
        assert event["changed"] == ["grants.* echo/*"]
        assert (event["outcome"], event["restart_to_apply"]) == ("success", [])
        assert event["policy"] in line
        assert event["before"] not in line


async def test_a_broken_file_changes_nothing_and_says_what_to_write(tmp_path: Path) -> None:
    content = config(server("echo"))
    with running(tmp_path, content) as gateway:
        good = gateway.file.read_text()
        async with host(gateway) as client:
            line = gateway.reload(good + '\n[limits]\ncalls_per_minute = "many"\n')
            number = gateway.file.read_text().count("\n")
            assert line.startswith("configuration not applied, the running one stays: ")
            assert f"{gateway.file}:{number}: limits.calls_per_minute: " in line
            assert await client.text("echo__echo", message="on") == "on"
            assert "usable again" in gateway.reload(good)
            assert last(gateway, "applied")["changed"] == []
            event = last(gateway, "refused")
            assert event["outcome"] == "failure"
            assert event["problems"] == [
                {"file": str(gateway.file), "line": number, "key": "limits.calls_per_minute"}
            ]
            assert "many" not in str(event)
            line = gateway.reload("[gateway\n")
            assert "not TOML" in line
            gateway.file.unlink()
            assert "there is no such file" in gateway.hears("there is no such file")
            assert await client.text("echo__echo", message="still") == "still"


async def test_a_changed_server_ends_its_calls_while_the_new_one_serves(tmp_path: Path) -> None:
    with running(tmp_path, config(server("asker"), server("echo")), own_children=True) as gateway:
        async with host(gateway, can=OFFER) as client, host(gateway, can=OFFER) as other:
            before = gateway.children()
            long = await client.start(
                "tools/call",
                {
                    "name": "asker__slow",
                    "arguments": {"seconds": 2},
                    "_meta": {"progressToken": 1},
                },
            )
            await client.note("notifications/progress")
            line = gateway.reload(config(server("asker", env={"NEW": "1"}), server("echo")))
            assert "servers.asker.env.NEW" in line
            assert len(gateway.children() & before) == 2
            assert len(gateway.children() - before) == 1
            summed = await other.call("asker__structured", a=1, b=2)
            assert summed["structuredContent"] == {"sum": 3}
            ended = await client.finish(long)
            assert ended["content"][0]["text"] == "awake"
            (old,) = before - await remaining(gateway, 2)
            await until_gone(old)


async def remaining(gateway: Gateway, count: int) -> set[int]:
    async with asyncio.timeout(DEADLINE):
        while len(found := gateway.children()) != count:
            await asyncio.sleep(0.01)
    return found


async def test_a_removed_server_goes_and_an_added_one_comes(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"), server("asker")), own_children=True) as gateway:
        async with host(gateway, can=OFFER) as client:
            gateway.reload(config(server("asker"), server("extras")))
            await client.note(LIST_CHANGED)
            owners = {name.partition("__")[0] for name in await client.tools()}
            assert owners == {"asker", "extras"}
            with pytest.raises(RpcError) as caught:
                await client.call("echo__echo", message="x")
            assert caught.value.data["reason"] == "tool_not_found"
            listed = await client.request("mgp/discovery/list")
            assert [one["id"] for one in listed["servers"]] == ["asker", "extras"]
            await remaining(gateway, 2)


async def test_a_call_of_a_removed_server_comes_to_its_end(tmp_path: Path) -> None:
    with running(tmp_path, config(server("asker"), server("echo")), own_children=True) as gateway:
        async with host(gateway, can=OFFER) as client:
            before = gateway.children()
            long = await client.start(
                "tools/call",
                {
                    "name": "asker__slow",
                    "arguments": {"seconds": 2},
                    "_meta": {"progressToken": 1},
                },
            )
            await client.note("notifications/progress")
            gateway.reload(config(server("echo")))
            await client.note(LIST_CHANGED)
            assert await client.tools() == ["echo__echo"]
            assert gateway.children() == before
            ended = await client.finish(long)
            assert ended["content"][0]["text"] == "awake"
            assert await remaining(gateway, 1) < before


async def test_what_cannot_change_while_it_runs_is_said_and_stays(tmp_path: Path) -> None:
    content = config(server("echo"))
    with running(tmp_path, content) as gateway:
        text = as_toml(tmp_path, content)
        changed = text.replace('"anonymous"', '"host" = "127.0.0.2"\n"anonymous"')
        line = gateway.reload(changed + '[limits]\nheader_bytes = 4096\n[audit]\nsync = "always"\n')
        # `--host` was not given, `--port` was: what the command line says stands over the file.
        assert line.startswith("configuration: restart to apply audit.sync (")
        assert f"gateway.host ({gateway.file}:" in line
        assert "limits.header_bytes" in line
        async with host(gateway) as client:
            assert await client.text("echo__echo", message="here") == "here"
        event = last(gateway, "applied")
        assert event["restart_to_apply"] == ["audit.sync", "gateway.host", "limits.header_bytes"]
        assert event["policy"] == event["before"]


async def test_a_profile_comes_and_goes_with_its_endpoint(tmp_path: Path) -> None:
    content = config(server("echo"), server("asker"))
    profile = {"profiles": {"small": {"servers": ["echo"]}}}
    with running(tmp_path, content) as gateway:
        url = f"{gateway.url}/small"
        async with aiohttp.ClientSession() as http:
            for wanted, status in ((content, 404), ({**content, **profile}, 400), (content, 404)):
                if wanted is not content or status != 404 or gateway.said():
                    gateway.reload(wanted)
                async with http.post(url, json={"jsonrpc": "2.0"}) as answer:
                    assert answer.status == status


async def test_callers_without_a_key_are_let_in_no_longer(tmp_path: Path) -> None:
    """MGP-14.3-3: a session that is open ends with its next call as well."""
    with running(tmp_path, config(server("echo"))) as gateway:
        async with host(gateway, "websocket 2025-11-25", can=OFFER) as client:
            assert await client.tools() == ["echo__echo"]
            gateway.reload(config(server("echo"), gateway={"anonymous": "deny"}))
            with pytest.raises(RpcError) as caught:
                await client.tools()
            assert caught.value.data["reason"] == "auth_required"
        async with aiohttp.ClientSession() as http, http.post(gateway.url, json=ASK) as answer:
            assert answer.status == 401


RISKY: dict[str, Any] = {"tools": {"structured": {"risk_level": "dangerous"}}}
CALM: dict[str, Any] = {"tools": {"structured": {"risk_level": "safe"}, "meta": {"enabled": False}}}
ALL = [{"agent": "*", "server": "asker"}]


@pytest.mark.parametrize(("grants", "allowed"), [(ALL, True), ([], False)])
async def test_a_call_that_waits_ends_as_it_began_unless_its_grant_is_gone(
    tmp_path: Path, grants: list[dict[str, Any]], allowed: bool
) -> None:
    """MGP-4.4-3: somebody is asked, and meanwhile the configuration changes."""
    before = config(server("asker", **RISKY), grants=ALL)
    after = config(server("asker", **CALM), grants=grants)
    with running(tmp_path, before) as gateway:

        def agree(method: str, params: dict[str, Any]) -> dict[str, Any]:
            gateway.reload(after)
            return {"action": "accept", "content": {"confirm": True}}

        async with host(gateway, can={**OFFER, "elicitation": {}}, answer=agree) as client:
            if allowed:
                called = await client.call("asker__structured", a=1, b=2)
                assert called["structuredContent"] == {"sum": 3}
            else:
                with pytest.raises(RpcError) as caught:
                    await client.call("asker__structured", a=1, b=2)
                assert caught.value.data["reason"] == "access_denied"
        assert len(gateway.audit("--tool", "structured", "--event", "TOOL_EXECUTED")) == allowed


async def test_a_call_with_its_owner_ends_when_its_grant_is_taken_away(tmp_path: Path) -> None:
    with running(tmp_path, config(server("asker"))) as gateway:
        async with host(gateway, can=OFFER) as client:
            long = await client.start(
                "tools/call",
                {
                    "name": "asker__slow",
                    "arguments": {"seconds": 30},
                    "_meta": {"progressToken": 1},
                },
            )
            await client.note("notifications/progress")
            gateway.reload(config(server("asker"), grants=[]))
            with pytest.raises(RpcError) as caught:
                await client.finish(long)
            assert caught.value.data["reason"] == "access_denied"


@pytest.mark.parametrize("to", [{"grants": []}, {"gateway": {"anonymous": "deny"}}])
async def test_a_call_ends_that_runs_at_a_tool_of_the_gateways_own_registry(
    tmp_path: Path, to: dict[str, Any]
) -> None:
    """Its provider is another caller, behind a connection of its own."""
    door = {"protocol": {"transport": {"type": "websocket", "port": 0}}}
    grants = {"grants": [{"agent": "*", "server": "gatewright"}]}
    with running(tmp_path, config(mcp=door, **grants)) as gateway:
        async with (
            connected(gateway.urls["groundhog"], gateway.operator_token) as provider,
            host(gateway, can=OFFER) as client,
        ):
            await provider.request("tools/register", registration("forever"))
            long = await client.start("tools/call", {"name": "forever", "arguments": {}})
            asked = await asyncio.wait_for(provider.others.get(), DEADLINE)
            assert asked["method"] == "tools/invoke"
            gateway.reload(config(mcp=door, **{**grants, **to}))
            with pytest.raises(RpcError) as caught:
                await client.finish(long)
            assert caught.value.data["reason"] in {"access_denied", "auth_required"}


async def test_a_host_on_standard_input_hears_of_it_too(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"))) as gateway:
        async with host(gateway, "stdio 2025-11-25") as client:
            assert await client.tools() == ["echo__echo"]
            assert isinstance(client.wire, StdioWire)
            file = client.wire.folder / "mgp.toml"
            text = as_toml(client.wire.folder, config(server("echo"), server("extras")))
            file.write_text(text)  # no signal: the file is looked at
            await client.note(LIST_CHANGED)
            assert len(await client.tools()) > 1

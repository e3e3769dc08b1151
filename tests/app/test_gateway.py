"""The gateway put together: who gets in, what it announces, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
import sys
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.app.gateway import Gateway
from gatewright.call import Answer, Caller
from gatewright.config import load
from gatewright.servers.server import Server
from gatewright.servers.spec import ServerSpec
from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import RpcError, host
from tests.servers.rig import SERVERS, FakeBack, alive, make_call, within
from tests.servers.test_ending import MUTE

ASK = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


async def test_without_a_key_nobody_gets_in(tmp_path: Path) -> None:
    """MGP-14.3-3: 401 and how to authenticate, at the HTTP and the WebSocket door."""
    content = config(server("echo"), gateway={"anonymous": "deny"})
    with running(tmp_path, content) as gateway:
        async with aiohttp.ClientSession() as http:
            async with http.post(gateway.url, json=ASK) as answer:
                assert answer.status == 401
                assert answer.headers["www-authenticate"].startswith("Bearer")
                assert (await answer.json())["error"]["data"]["reason"] == "auth_required"
            wrong = {"authorization": "Bearer nonsense"}
            async with http.post(gateway.url, json=ASK, headers=wrong) as answer:
                assert answer.status == 401
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await http.ws_connect(gateway.urls["websocket"], protocols=("mcp",))
            assert caught.value.status == 401


async def test_a_key_gets_in_and_stops_to_when_it_is_revoked(tmp_path: Path) -> None:
    """MGP-6.3-1: the key's name is the actor; MGP-14.3-3 after the revocation, within a second."""
    grants = [{"agent": "ada", "server": "echo"}]
    content = config(server("echo"), grants=grants, gateway={"anonymous": "deny"})
    with running(tmp_path, content) as gateway:
        ours = ("--key", gateway.operator_token)
        made = json.loads(gateway.cli("key", "create", "root", "--operator", "--json", *ours))
        operator = made["key"]
        made = json.loads(gateway.cli("key", "create", "ada", "--json", "--key", operator))
        headers = {"authorization": f"Bearer {made['key']}"}
        async with host(gateway, headers=headers) as client:
            assert await client.text("echo__echo", message="in") == "in"
            gateway.cli("key", "revoke", made["id"], "--key", operator)
            async with aiohttp.ClientSession() as http, asyncio.timeout(2):
                status = 200
                while status == 200:
                    async with http.post(gateway.url, json=ASK, headers=headers) as answer:
                        status = answer.status
            assert status == 401
        (record,) = gateway.audit("--tool", "echo", "--event", "TOOL_EXECUTED")
        assert record["actor"]["id"] == "ada"
        changes = [one["event_type"] for one in gateway.audit() if "key" in one["event_type"]]
        assert "dev.gatewright.key.revoked" in changes


async def test_what_a_door_refuses_is_recorded_where_the_caller_is_known(tmp_path: Path) -> None:
    """MGP-1.2-5: also for what never becomes a call."""
    with running(tmp_path, config(server("echo"))) as gateway:
        token = {"authorization": f"Bearer {gateway.operator_token}"}
        async with aiohttp.ClientSession() as http:
            for headers in (token, {}):
                async with http.post(gateway.url, json={"jsonrpc": "2.0"}, headers=headers) as no:
                    assert no.status == 400
        (record,) = gateway.audit("--event", "dev.gatewright.refused")
        assert record["actor"] == {"type": "operator", "id": "local"}
        assert record["details"]["code"] == -32600


async def test_only_the_owner_can_read_what_the_gateway_announces(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"))) as gateway:
        path = tmp_path / "state" / "gateway.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert json.loads(path.read_text())["pid"] == gateway.pid
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(20) == 0
        assert not path.exists()


async def test_calls_in_flight_are_answered_before_the_gateway_stops(tmp_path: Path) -> None:
    with running(tmp_path, config(server("asker"))) as gateway:
        async with host(gateway) as client:
            meta = {"progressToken": 1}
            ident = await client.start(
                "tools/call", {"name": "asker__slow", "arguments": {"seconds": 1}, "_meta": meta}
            )
            await client.note("notifications/progress")
            os.kill(gateway.pid, signal.SIGTERM)
            result = await client.finish(ident)
            assert result["content"][0]["text"] == "awake"
            assert gateway.process.wait(20) == 0


async def test_health_and_metrics_tell_what_is_going_on(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"))) as gateway:
        base = gateway.url.removesuffix("/mcp")
        async with host(gateway) as client:
            await client.call("echo__echo", message="x")
            with pytest.raises(RpcError):
                await client.call("none")
        async with aiohttp.ClientSession() as http:
            async with http.get(f"{base}/livez") as answer:
                assert (answer.status, await answer.text()) == (200, "ok\n")
            async with http.get(f"{base}/readyz") as answer:
                assert (await answer.json())["servers"] == {"echo": "connected"}
            async with http.get(f"{base}/metrics") as answer:
                text = await answer.text()
        assert 'gatewright_calls_total{kind="tool",outcome="success"} 1.0' in text
        assert 'gatewright_calls_total{kind="tool",outcome="denied"} 1.0' in text
        assert 'gatewright_server_state{server="echo",state="connected"} 1.0' in text


async def test_a_second_gateway_on_one_store_refuses_to_start(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"))):
        with pytest.raises(AssertionError) as caught, running(tmp_path, config(server("echo"))):
            pass
        assert "another" in str(caught.value)


def stop(gateway: Gateway) -> Awaitable[Any]:
    """An operator's `server stop a`."""
    method = "gatewright/server/stop"
    caller = Caller("root", "operator", "key1")
    call = make_call("method", method, {"server": "a"}, caller=caller)
    return gateway.administration.methods[method](call, FakeBack())


async def test_a_server_that_is_stopped_while_a_restart_of_it_is_judged_stays_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between what an operator said so far and the start of processes, the rules are read beside the loop."""
    file = tmp_path / "mgp.toml"
    file.write_text(
        f'[storage]\npath = "{tmp_path / "state"}"\n[gateway]\nport = 0\nstartup_wait_s = 60\n'
        f'[[servers]]\nid = "a"\ncommand = "{sys.executable}"\nargs = ["{SERVERS / "living.py"}"]\n'
    )
    async with Gateway(load(file)) as gateway:
        await within(gateway.supervisor.settled())
        table, go_on = gateway._judges.table, threading.Event()

        def late(settings: Any) -> Any:
            assert go_on.wait(20)
            return table(settings)

        monkeypatch.setattr(gateway._judges, "table", late)
        restarting = asyncio.create_task(gateway.again(("a",)))
        await asyncio.sleep(0.1)
        stopped = asyncio.ensure_future(stop(gateway))
        while not gateway.administration.is_stopped("a"):
            await asyncio.sleep(0.01)
        started: list[str] = []
        made = gateway.supervisor._made

        def seen(spec: ServerSpec, authorizer: Any) -> Server:
            started.append(spec.problem)
            return made(spec, authorizer)

        monkeypatch.setattr(gateway.supervisor, "_made", seen)
        go_on.set()
        assert isinstance(await within(stopped), Answer)
        await within(restarting)
        assert started
        assert all(started)  # none that would run
        assert gateway.supervisor.states == {"a": "disconnected"}


async def test_a_server_that_is_stopped_as_it_starts_is_waited_for_no_more(tmp_path: Path) -> None:
    """The ready line and first requests waited all of `startup_wait_s` for it, and each request looked for it ever after."""
    file = tmp_path / "mgp.toml"
    args = json.dumps([*MUTE.args])
    file.write_text(
        f'[storage]\npath = "{tmp_path / "state"}"\n[gateway]\nport = 0\nstartup_wait_s = 60\n'
        f'[[servers]]\nid = "a"\ncommand = "{sys.executable}"\nargs = {args}\n'
    )
    async with Gateway(load(file)) as gateway:
        server = gateway.supervisor.fleet.servers["a"]
        ready = asyncio.ensure_future(gateway.supervisor.settled())
        async with asyncio.timeout(20):
            while not server.stderr.lines:
                await asyncio.sleep(0.01)
        await within(stop(gateway))
        assert await within(ready)
        assert not alive(int(server.stderr.lines[0]))

"""The gateway put together: who gets in, what it announces, how it stops."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import stat
from pathlib import Path

import aiohttp
import pytest

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import RpcError, host

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

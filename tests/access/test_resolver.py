"""Names that are missing although a server may yet claim them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security"]}}


async def test_a_server_that_never_came_up_is_named_to_who_may_use_it(tmp_path: Path) -> None:
    """MGP-14.3-7: not ready is told apart from not there."""
    late = server("bad", "late", "hang", connect_timeout_s=30)
    content = config(server("echo"), late, gateway={"startup_wait_s": 0.5})
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            with pytest.raises(RpcError) as caught:
                await client.call("late__anything")
            assert caught.value.code == 2000
            assert caught.value.data["_mgp"]["retryable"] is True
            with pytest.raises(RpcError) as caught:
                await client.call("other__anything")
            assert caught.value.code == 4001


async def test_a_server_that_failed_says_so(tmp_path: Path) -> None:
    missing = {
        "id": "missing",
        "command": "/nonexistent",
        "mgp": {"extensions": [], "restart_policy": "never"},
    }
    with running(tmp_path, config(server("echo"), missing)) as gateway:
        async with host(gateway, can=OFFER) as client:
            with pytest.raises(RpcError) as caught:
                await client.call("missing__anything")
            assert caught.value.code == 5002


async def _rehearse(client: Any) -> None:
    """Ask what would be said of a call, and leave a server the time to start for it."""
    with suppress(RpcError):
        await client.request("tools/validate", {"name": "late__echo", "arguments": {}})
    await asyncio.sleep(0.5)


async def test_a_server_that_never_came_up_is_tried_again_by_a_call_once_it_may_be(
    tmp_path: Path,
) -> None:
    """MGP-11.5-6: after the window, though nobody knows its tools; by nobody who may not use it, and by no rehearsal."""
    mended = tmp_path / "mended"
    program = tmp_path / "late.sh"
    program.write_text(f'test -e "{mended}" || exit 3\nexec "$@"\n')
    late = server("echo", "late", mgp={"extensions": [], "max_restarts": 1, "restart_window_secs": 1, "backoff_base_ms": 1})  # fmt: skip
    late |= {"command": "sh", "args": [str(program), late["command"], *late["args"]]}
    content = config(server("echo"), late, grants=[{"agent": "*", "server": "echo"}])
    with running(tmp_path, content) as gateway:
        async with asyncio.timeout(20):
            while sum("server late:" in line for line in gateway.said()) < 2:
                await asyncio.sleep(0.05)
            mended.touch()
            async with host(gateway, can=OFFER) as stranger:
                for _ in range(3):
                    await asyncio.sleep(0.5)
                    with pytest.raises(RpcError):
                        await stranger.call("late__echo", message="m")
            assert "late\terror" in gateway.cli("server", "list")
            headers = {"authorization": f"Bearer {gateway.operator_token}"}
            async with host(gateway, can=OFFER, headers=headers) as client:
                await _rehearse(client)
                assert "late\terror" in gateway.cli("server", "list")
                with pytest.raises(RpcError) as caught:
                    await client.call("late__echo", message="m")
                assert caught.value.code == 5002
                while True:
                    with suppress(RpcError):
                        assert await client.text("late__echo", message="m") == "m"
                        return
                    await asyncio.sleep(0.1)


async def test_to_everybody_else_it_does_not_exist(tmp_path: Path) -> None:
    late = server("bad", "late", "hang", connect_timeout_s=30)
    content = config(
        server("echo"),
        late,
        grants=[{"agent": "*", "server": "echo"}],
        gateway={"startup_wait_s": 0.5},
    )
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            with pytest.raises(RpcError) as caught:
                await client.call("late__anything")
            assert caught.value.code == 4001


@pytest.mark.parametrize("mode", ["never-lists", "refuses-list"])
async def test_a_server_that_has_not_listed_its_tools_is_not_ready(
    tmp_path: Path, mode: str
) -> None:
    """MGP-14.3-7: connected is not enough to know that there is no such tool."""
    late = server("bad", "late", mode)
    content = config(server("echo"), late, gateway={"startup_wait_s": 0.5})
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            with pytest.raises(RpcError) as caught:
                await client.call("late__anything")
            assert (caught.value.code, caught.value.data["_mgp"]["retryable"]) == (2000, True)
            assert "has not listed its tools yet (connected)" in str(caught.value)
            with pytest.raises(RpcError) as caught:
                await client.call("echo__nothing")
            assert caught.value.code == 4001


OFF: dict[str, Any] = {"tools": {"echo": {"enabled": False}}}


async def test_a_tool_that_an_operator_switched_off_says_so(tmp_path: Path) -> None:
    """MGP-14.3-16: also where its whole server is, whether that was ever there or not."""
    away = server("echo", "away", enabled=False)
    content = config(server("echo", **OFF), away)
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            for name, how in (
                ("echo__echo", "enabled = true"),
                ("away__echo", "server enable away"),
            ):
                with pytest.raises(RpcError) as caught:
                    await client.call(name)
                assert caught.value.code == 4002
                assert how in str(caught.value)
            with pytest.raises(RpcError) as caught:
                await client.call("echo__nothing")
            assert caught.value.code == 4001


async def test_what_is_switched_off_is_no_secret_of_those_alone_who_may_use_it(
    tmp_path: Path,
) -> None:
    content = config(
        server("echo", **OFF),
        server("echo", "away", enabled=False),
        grants=[{"agent": "*", "server": "echo", "tool": "other"}],
    )
    with running(tmp_path, content) as gateway:
        async with host(gateway, can=OFFER) as client:
            codes = []
            for name in ("echo__echo", "echo__nothing", "away__echo", "nowhere__echo"):
                with pytest.raises(RpcError) as caught:
                    await client.call(name)
                codes.append(caught.value.code)
            assert len(set(codes)) == 1
            assert codes[0] != 4002

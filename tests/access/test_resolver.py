"""Names that are missing although a server may yet claim them."""

from __future__ import annotations

from pathlib import Path

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

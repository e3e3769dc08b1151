"""What an MGP client meets at the edges: a server that is silent, one that is gone, extensions that nobody knows yet."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security"]}}
TOMORROW = {"mgp": {"version": "0.9.0", "extensions": ["observability", "versioning", "security"]}}
DIES = "import sys; sys.exit(3)"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    content = config(
        server("permits", "silent", call_timeout_s=0.3, mgp={"extensions": ["security"]}),
        {
            "id": "gone",
            "command": sys.executable,
            "args": ["-c", DIES],
            "mgp": {"extensions": [], "restart_policy": "never"},
        },
        server("echo"),
    )
    with running(tmp_path_factory.mktemp("edges"), content) as found:
        yield found


@pytest.mark.parametrize("door", DOORS)
async def test_a_server_that_does_not_answer_is_5001(gateway: Gateway, door: str) -> None:
    """MGP-14.3-18"""
    async with host(gateway, door, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("silent__linger")
    assert caught.value.code == 5001
    recovery = caught.value.data["_mgp"]
    # It may have run, so nobody is told that it may be made again.
    assert (recovery["category"], recovery["retryable"]) == ("external", False)


@pytest.mark.parametrize("door", DOORS)
async def test_a_server_that_does_not_start_is_5002(gateway: Gateway, door: str) -> None:
    """MGP-14.3-19: exactly, as nothing starts it again."""
    async with host(gateway, door, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("gone__anything")
    assert caught.value.code == 5002


@pytest.mark.parametrize("door", DOORS)
async def test_extensions_of_tomorrow_are_left_out_and_break_nothing(
    gateway: Gateway, door: str
) -> None:
    """MGP-10.2-1"""
    async with host(gateway, door, can=TOMORROW) as client:
        assert client.hello["capabilities"]["mgp"]["extensions"] == ["security"]
        assert await client.text("echo__echo", message="fine") == "fine"

"""How often: the same refusal in the words of each protocol at every door, and what the record says of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.access_house import OFFER, House
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import EVERY_DOOR, Host, RpcError, host

pytestmark = pytest.mark.timeout(180)

HOUR_MS = 3_600_000
LIMITS = {"calls": {"callers": {"agent-1": {"per_hour": 20}}}}
TOOLS = {"echo": {"risk_level": "safe", "calls": {"per_hour": 2}}}


def content(tools: dict[str, Any] = TOOLS) -> dict[str, Any]:
    """One tool with a limit, and one caller with another."""
    return config(server("echo", tools=tools), limits=LIMITS)


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("limits"), content()) as gateway:
        yield gateway


async def until_refused(client: Host) -> Any:
    """What comes once the two calls of the hour are used up, here or through another door."""
    for _ in range(2):
        found = await client.call("echo__echo", message="x")
        if found.get("isError"):
            return found
    return await client.call("echo__echo", message="x")


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_tool_over_its_limit_says_when_to_come_again(limited: Gateway, door: str) -> None:
    """MGP-14.3-10, MGP-14.5-1: 3000 with the wait for who negotiated MGP, a result for everybody else."""
    async with host(limited, door) as plain:
        result = await until_refused(plain)
        text = result["content"][0]["text"]
        assert result["isError"] is True
        assert text.startswith("Rate limited: 2 calls per hour of this tool exceeded")
        data = json.loads(text.splitlines()[1])
    if door.startswith("stdio"):
        return  # another host would start a gateway of its own, that has counted nothing
    async with host(limited, door, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await until_refused(client)
    help_ = caught.value.data["_mgp"]
    assert caught.value.code == 3000
    assert help_["details"] == data["details"]
    assert help_["details"] == {"limit": 2, "window_secs": 3600, "current": 3, "scope": "tool"}
    assert help_["retryable"] is True
    assert HOUR_MS / 2 < help_["retry_after_ms"] <= data["retry_after_ms"] <= HOUR_MS


async def test_the_record_says_which_limit_refused(limited: Gateway) -> None:
    async with host(limited) as client:
        await until_refused(client)
    record = limited.audit("--tool", "echo")[0]
    assert record["decision"] == {"gate": "tool_rate", "reason": "rate_limited"}
    assert record["details"]["limited_by"]["scope"] == "tool"


async def test_a_key_over_its_limit_learns_nothing_of_what_it_may_do(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """GGEN-auth-10: the limit is asked before any authorization result."""
    said = config(server("echo"), grants=[], gateway={"anonymous": "deny"}, limits=LIMITS)
    with running(tmp_path_factory.mktemp("keyed"), said) as gateway:
        house = House(gateway)
        _, key = house.agent()
        codes = []
        async with house.host("http 2026-07-28", key) as client:
            for _ in range(25):
                with pytest.raises(RpcError) as caught:
                    await client.call("echo__echo", message="x")
                codes.append(caught.value.code)
        assert codes == sorted(codes)
        assert set(codes) == {1001, 3000}


async def test_a_reload_changes_the_limit_and_forgets_nothing(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """C-39"""
    with running(tmp_path_factory.mktemp("reloaded"), content()) as gateway:
        async with host(gateway) as client:
            await until_refused(client)
            gateway.reload(content({"echo": {"calls": {"per_hour": 3}}}), told="applied")
            assert "isError" not in await client.call("echo__echo", message="x")
            refused = await client.call("echo__echo", message="x")
            assert refused["content"][0]["text"].startswith("Rate limited: 3 calls per hour")

"""The names of a server's tools while the server is away: after a restart of the gateway, switched off, or failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.groundhog_client import connected
from tests.behaviour.hosts import host

WAYS = ("off", "broken", "restarted")


def content(pin: str, **more: Any) -> dict[str, Any]:
    return config(
        server("echo", pin=pin) | more,
        grants=[{"agent": "*", "server": one} for one in ("echo", "gatewright")],
        gateway={"unprefixed": True, "startup_wait_s": 10},
        mcp={"protocol": {"transport": {"type": "websocket", "port": 0}}},
    )


def registration(name: str) -> dict[str, Any]:
    return {
        "tool_metadata": {"name": name, "version": "1.0.0", "categories": ["x"]},
        "security_profile": {},
        "schema": {"input": {"type": "object"}, "output": {"type": "object"}},
        "implementation": "connection",
    }


async def taken(gateway: Gateway) -> None:
    """Somebody tries to answer for the name, and a caller uses it."""
    async with connected(gateway.urls["groundhog"], gateway.operator_token) as eve:
        eve.serves = lambda _: {"data": {"said": "eve"}}
        refused = await eve.refusal("tools/register", registration("echo"))
        assert refused.data["error_code"] == "conflict", refused
        assert "server echo" in str(refused)
        assert (await eve.request("tools/register", registration("other")))["tool_id"] == "other"
        async with host(gateway) as ann:
            assert "echo" not in await ann.tools()
            assert "other" in await ann.tools()


@pytest.mark.parametrize("pin", ["first-use", "off"])
@pytest.mark.parametrize("way", WAYS)
async def test_nobody_registers_the_name_of_a_tool_whose_server_is_away(
    tmp_path: Path, way: str, pin: str
) -> None:
    away: dict[str, Any] = {"enabled": False} if way == "off" else {"command": "/bin/false"}
    with running(tmp_path, content(pin)) as gateway:
        async with host(gateway) as ann:
            assert await ann.text("echo", message="hello") == "hello"
        if way != "restarted":
            gateway.reload(content(pin, **away))
            await taken(gateway)
    if way == "restarted":
        with running(tmp_path, content(pin, **away)) as gateway:
            await taken(gateway)
    with running(tmp_path, content(pin)) as gateway:
        async with host(gateway) as ann:
            assert await ann.text("echo", message="back") == "back"

"""What `[mcp.protocol]` says is what clients meet at the door, for each value that is not the default; the clock is the test's."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.app.gateway import Gateway
from gatewright.dialects.groundhog import feature
from gatewright.dialects.groundhog.feature import GroundhogFeature
from tests.behaviour.groundhog_client import Groundhog, RefusedError, connected
from tests.behaviour.groundhog_house import REGISTER
from tests.dialects.groundhog.test_feature import gateway

KINDS = pytest.mark.parametrize("kind", ["websocket", "http", "tcp"])
PLACE = '[mcp.protocol.transport]\ntype = "{}"\nport = 0\n'
TREE = '[builtin.directory_list]\nroots = ["."]\n'
LIMITS = "[mcp.protocol.rate_limits]\n"
MEMORY = 2**28


class Clock:
    """Wall time that only the test moves."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of the feature."""
    found = Clock()
    monkeypatch.setattr(feature, "time", SimpleNamespace(time=found, monotonic=time.monotonic))
    return found


@asynccontextmanager
async def house(
    folder: Path, text: str, kind: str = "websocket"
) -> AsyncIterator[tuple[Gateway, str, str]]:
    """A gateway of this configuration, the address of the protocol, and an operator's key."""
    async with gateway(folder, text + PLACE.format(kind)) as (found, urls):
        yield found, urls["groundhog"], found._tokens["operator"]


def code(refused: RefusedError) -> str:
    return str(refused.data["error_code"])


@KINDS
@pytest.mark.parametrize("must", [True, False])
async def test_who_has_to_authenticate_is_what_its_own_table_says(
    tmp_path: Path, kind: str, must: bool
) -> None:
    """GRH-cfg-5: where the gateway itself lets everybody in."""
    text = (
        '[gateway]\nanonymous = "allow"\n[mcp.protocol.security]\n'
        f"require_authentication = {str(must).lower()}\n"
    )
    async with house(tmp_path, text, kind) as (_, url, key):
        async with connected(url) as client:
            if must:
                refused = await client.refusal("tools/list")
                assert code(refused) == "authentication_failed"
            else:
                assert "tools" in await client.request("tools/list")
        async with connected(url, key) as client:
            assert "tools" in await client.request("tools/list")


@pytest.mark.parametrize("kind", ["websocket", "tcp"])
async def test_a_connection_without_a_credential_is_closed_when_its_time_is_up(
    tmp_path: Path, kind: str
) -> None:
    """GRH-cfg-6: a good deal earlier than by default."""
    text = "[mcp.protocol.security]\nauthentication_timeout = 0.2\n"
    async with (
        house(tmp_path, text, kind) as (_, url, key),
        connected(url, key) as known,
        connected(url) as client,
    ):
        await asyncio.wait_for(client.over, 20)
        assert "tools" in await known.request("tools/list")


@KINDS
async def test_a_session_ends_when_it_is_as_old_as_the_configuration_says(
    tmp_path: Path, kind: str, clock: Clock
) -> None:
    """GRH-cfg-7, GRH-sec-2."""
    text = "[mcp.protocol.security]\nsession_timeout = 1234\n"
    async with house(tmp_path, text, kind) as (_, url, key), connected(url, key) as client:
        session = (await client.request("session/create", {"session_id": "mine"}))["session_id"]
        named = {"security_context": {"session_id": session}}
        clock.now += 1233
        assert "tools" in await client.request("tools/list", named)
        clock.now += 1
        refused = await client.refusal("tools/list", named)
        assert (refused.data["error_type"], code(refused)) == ("security_error", "session_expired")


@pytest.mark.parametrize(("kind", "more"), [("websocket", 3), ("http", 3), ("tcp", 2)])
async def test_there_are_as_many_sessions_as_the_configuration_says(
    tmp_path: Path, kind: str, more: int
) -> None:
    """GRH-cfg-8: one more is refused, until one is closed. Over TCP saying who one is opens one."""
    text = "[mcp.protocol.security]\nmax_concurrent_sessions = 3\n"
    async with house(tmp_path, text, kind) as (_, url, key), connected(url, key) as client:
        for number in range(more):
            await client.request("session/create", {"session_id": f"s{number}"})
        refused = await client.refusal("session/create", {"session_id": "too many"})
        assert (code(refused), refused.data["details"]["limit"]) == ("resource_limit", 3)
        await client.request("session/close", {"session_id": "s0"})
        assert await client.request("session/create", {"session_id": "another"})


@KINDS
async def test_another_version_is_spoken_where_it_is_configured(tmp_path: Path, kind: str) -> None:
    """GRH-cfg-1, GRH-err-3: it is said, and any other one is refused by name."""
    text = '[mcp.protocol]\nversion = "2.1.0"\n'
    async with house(tmp_path, text, kind) as (_, url, key), connected(url, key) as client:
        assert (await client.request("session/get"))["protocol_version"] == "2.1.0"
        assert "tools" in await client.request("tools/list", {"protocol_version": "2.1.0"})
        refused = await client.refusal("tools/list", {"protocol_version": "1.0.0"})
        assert (code(refused), refused.data["details"]["supported"]) == (
            "unsupported_version",
            ["2.1.0"],
        )


@pytest.mark.parametrize(("strict", "number"), [("true", 4001), ("false", -32601)])
async def test_errors_are_numbered_as_the_configuration_says(
    tmp_path: Path, strict: str, number: int
) -> None:
    """GRH-msg-9, C-02."""
    text = TREE + f"[mcp.protocol.security]\nstrict_codes = {strict}\n"
    async with house(tmp_path, text) as (_, url, key), connected(url, key) as client:
        refused = await client.refusal("tools/invoke", {"tool_id": "none", "parameters": {}})
    assert (refused.code, code(refused)) == (number, "not_found")


@pytest.mark.parametrize(
    ("performance", "warned"),
    [
        ("memory_usage_warning = 1\n", ["high_memory"]),
        ("execution_time_warning = 0.000001\n", ["slow_execution"]),
        ("", []),
    ],
)
async def test_a_call_is_slow_or_large_from_when_on_the_configuration_says(
    tmp_path: Path, performance: str, warned: list[str]
) -> None:
    """GRH-mon-3, GRH-mon-4: counted once each for the call."""
    text = TREE + "[mcp.protocol.performance]\n" + performance
    (tmp_path / "one").write_text("x")
    async with house(tmp_path, text.replace('"."', f'"{tmp_path}"')) as (found, url, key):
        profile = {"sandbox_level": "process", "resource_limits": {"max_memory": MEMORY}}
        permissions = REGISTER["security_profile"]["permissions"]
        registered = REGISTER | {"security_profile": {"permissions": permissions, **profile}}
        registered |= {"tool_metadata": {**REGISTER["tool_metadata"], "version": "0.9.0"}}
        told: list[str] = []
        (groundhog,) = (one for one in found.features if isinstance(one, GroundhogFeature))
        groundhog._ground.strained.listen(lambda one: told.append(one[1]))
        async with connected(url, key) as client:
            await client.request("tools/register", registered)
            told.clear()
            call = {
                "tool_id": "directory_list",
                "tool_version": "0.9.0",
                "parameters": {"path": "."},
            }
            assert (await client.request("tools/invoke", call))["status"] == "success"
        assert told == warned


@pytest.mark.parametrize(
    ("key", "scope", "seconds"),
    [
        ("global_requests_per_second", "total", 1),
        ("global_requests_per_minute", "total", 60),
        ("user_requests_per_second", "caller", 1),
        ("user_requests_per_minute", "caller", 60),
        ("tool_requests_per_second", "tool", 1),
        ("tool_requests_per_minute", "tool", 60),
    ],
)
@KINDS
async def test_each_limit_of_its_configuration_holds_at_its_door(
    tmp_path: Path, kind: str, key: str, scope: str, seconds: int
) -> None:
    """GRH-rate-1, GRH-rate-2, GRH-rate-3, GRH-rate-4, GRH-rate-5, GRH-rate-6: by itself, and of a tool for that tool alone."""
    every = {
        f"{who}_requests_per_{span}": 100_000
        for who in ("global", "user", "tool")
        for span in ("second", "minute")
    } | {key: 3}
    text = LIMITS + "".join(f"{name} = {value}\n" for name, value in every.items())
    text = TREE.replace('"."', f'"{tmp_path}"') + text
    async with house(tmp_path, text, kind) as (_, url, token), connected(url, token) as client:
        refused = await _until_refused(client, "directory_list")
        details = refused.data["details"]
        assert code(refused) == "rate_limit_exceeded"
        assert (details["limit"], details["window_secs"], details["scope"]) == (3, seconds, scope)
        if scope == "tool":
            other = await client.refusal("tools/invoke", {"tool_id": "none", "parameters": {}})
            assert code(other) == "not_found"


async def _until_refused(client: Groundhog, tool: str) -> RefusedError:
    """How one of enough calls at once is refused."""
    call: dict[str, Any] = {"tool_id": tool, "parameters": {"path": "."}}
    done = await asyncio.gather(
        *(client.request("tools/invoke", call) for _ in range(12)), return_exceptions=True
    )
    refused = [one for one in done if isinstance(one, RefusedError)]
    assert refused
    return refused[0]

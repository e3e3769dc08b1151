"""The order of a server's states (MGP §11.2) as clients are told it: put in while they listen, started anew from `error`, shut down."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.behaviour.gateway import ROOT, config, running
from tests.behaviour.hosts import host
from tests.behaviour.test_mgp_lifecycle import (
    OFFER,
    PUSHING,
    living,
    operator,
    shut_down,
    state_of,
    states,
    steps,
)

WORDS = (
    "operator_request",
    "configuration_change",
    "resource_limit",
    "idle_timeout",
    "kernel_shutdown",
)
"""MGP's reasons (§11.4), as its text has them."""
LATE = "import runpy; runpy.run_path({!r}, run_name='__main__')"


@pytest.mark.parametrize("door", [one for one in PUSHING if not one.startswith("stdio")])
async def test_a_server_that_is_put_in_is_told_from_its_registration_on(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.2-2: registered, connecting, connected, in that order, to who listens already."""
    with running(tmp_path, config(living("old"))) as gateway:
        async with host(gateway, door, can=OFFER) as client:
            await client.text("old__pid")
            await asyncio.to_thread(gateway.reload, config(living("old"), living("new")))
            found = await steps(client, "new", "connected")
            assert states(found) == ["registered", "connecting", "connected"]
            assert [one["reason"] for one in found] == ["start", "started"]
            assert (await client.text("new__pid")).isdigit()


@pytest.mark.parametrize("door", [one for one in PUSHING if not one.startswith("stdio")])
async def test_a_server_in_error_that_is_mended_and_started_anew_is_connected(
    tmp_path: Path, door: str
) -> None:
    """MGP-11.2-4: error, restarting, connected, by an operator's restart."""
    program = tmp_path / "late.py"
    never = {"extensions": [], "restart_policy": "never"}
    one = {"id": "s", "command": sys.executable, "args": [str(program)], "mgp": never}
    with running(tmp_path, config(one)) as gateway:
        async with host(gateway, door, can=OFFER) as client, operator(gateway) as chief:
            async with asyncio.timeout(60):
                while (await state_of(chief, "s"))["status"] != "error":
                    await asyncio.sleep(0.02)
            living_server = ROOT / "tests" / "tool_servers" / "living.py"
            program.write_text(LATE.format(str(living_server)))
            await asyncio.to_thread(gateway.cli, "server", "restart", "s")
            found = await steps(client, "s", "connected")
            assert states(found) == ["error", "restarting", "connected"]
            assert (await client.text("s__pid")).isdigit()


async def test_each_of_the_five_words_is_taken_as_a_reason(tmp_path: Path) -> None:
    """MGP-11.4-2: of a server that is named, and each is told as the reason it was."""
    servers = {word: f"s{number}" for number, word in enumerate(WORDS)}
    with running(tmp_path, config(*(living(one) for one in servers.values()))) as gateway:
        async with operator(gateway) as chief:
            for word, ident in servers.items():
                assert (await chief.text(f"{ident}__pid")).isdigit()
                assert (await shut_down(chief, ident, word))["accepted"] is True
                found = await steps(chief, ident, "disconnected")
                assert states(found)[-3:] == ["connected", "draining", "disconnected"]
                assert {one["reason"] for one in found[-2:]} == {word}

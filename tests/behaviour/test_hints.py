"""A fresh gateway governs: what a server's own annotations say of danger asks a person, at every door, and the message that
says so names the command that works."""

from __future__ import annotations

import os
import pty
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import forked_path
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, host

FRESH = {"approvals": {"hold_s": 0}}
"""Everything else as it is without a word: only that calls do not wait, so that tests need not."""


def a_config(*, table: dict[str, Any] | None = None, **tables: Any) -> Any:
    return config(server("hinting", **(table or {})), **{**FRESH, **tables})


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("fresh"), a_config()) as gateway:
        yield gateway


def at_a_terminal(command: str) -> str:
    """What a command prints, typed as it stands at a terminal that is nowhere near the gateway; the exit code is 0."""
    return typed(command).stdout.decode()


def typed(command: str) -> subprocess.CompletedProcess[bytes]:
    """The same with what it says besides."""
    names = ("GATEWRIGHT_STATE", "MGP_CONFIG_PATH")
    environ = {name: value for name, value in os.environ.items() if name not in names}
    leader, follower = pty.openpty()
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            env={**environ, "PATH": forked_path.path()},
            stdin=follower,
            capture_output=True,
            timeout=60,
            cwd="/",
            check=False,
        )
    finally:
        os.close(leader)
        os.close(follower)
    assert done.returncode == 0, done.stderr.decode()
    return done


def said(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@pytest.mark.parametrize("door", DOORS)
async def test_a_tool_that_says_that_it_destroys_runs_when_the_printed_command_was_run(
    fresh: Gateway, door: str
) -> None:
    async with host(fresh, door) as client:
        assert await client.text("hinting__read") == "ran read"
        assert await client.text("hinting__plain") == "ran plain"
        first = await client.call("hinting__wipe", of=door)
        assert first["isError"] is True
        printed = re.search(r"`([^`]*gatewright approve ap_\w+)`", said(first))
        assert printed is not None, said(first)
        at_a_terminal(printed[1])
        assert await client.text("hinting__wipe", of=door) == "ran wipe"
        again = await client.call("hinting__wipe", of=door)
        assert again["isError"] is True


async def test_a_yes_to_what_reaches_out_is_one_to_its_further_calls(fresh: Gateway) -> None:
    async with host(fresh, DOORS[0]) as client:
        first = await client.call("hinting__search", q="one")
        printed = re.search(r"`([^`]*gatewright approve) (ap_\w+)`", said(first))
        assert printed is not None, said(first)
        listed = at_a_terminal(f"{printed[1]} --json")
        assert "a yes holds for all its calls by anonymous for 8 h" in listed
        at_a_terminal(f"{printed[1]} {printed[2]}")
        assert await client.text("hinting__search", q="one") == "ran search"
        assert await client.text("hinting__search", q="two") == "ran search"


@pytest.mark.parametrize(
    ("table", "tables"),
    [
        ({"hints": "off"}, {}),
        ({}, {"approvals": {"hold_s": 0, "hints": "off"}}),
        ({"tools": {"*": {"risk_level": "moderate"}}}, {}),
        ({"mgp": {"trust_level": "trusted"}}, {}),
        (
            {},
            {
                "grants": [
                    {"agent": "*", "server": "hinting"},
                    {"agent": "*", "server": "hinting", "tool": "wipe"},
                ]
            },
        ),
    ],
    ids=["server", "gateway", "word", "trusted", "grant"],
)
async def test_nobody_is_asked_where_the_operator_vouched(
    tmp_path: Path, table: dict[str, Any], tables: dict[str, Any]
) -> None:
    with running(tmp_path, a_config(table=table, **tables)) as gateway:
        async with host(gateway, DOORS[0]) as client:
            assert await client.text("hinting__wipe") == "ran wipe"


async def test_a_server_switched_on_asks_where_the_gateway_is_switched_off(tmp_path: Path) -> None:
    tables = {"approvals": {"hold_s": 0, "hints": "off"}}
    with running(tmp_path, a_config(table={"hints": "ask"}, **tables)) as gateway:
        async with host(gateway, DOORS[0]) as client:
            assert (await client.call("hinting__wipe"))["isError"] is True


async def test_a_hint_that_is_said_later_counts_from_then_on(tmp_path: Path) -> None:
    later = server("hinting", "hinting", "--later", pin="off")
    with running(tmp_path, config(later, **FRESH)) as gateway:
        async with host(gateway, DOORS[0]) as client:
            assert await client.text("hinting__wipe") == "ran wipe"
            for _ in range(500):
                found = await client.call("hinting__wipe")
                if found.get("isError"):
                    break
            assert "waits for an operator" in said(found)

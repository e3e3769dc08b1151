"""A refusal that an operator can lift names a command: typed as it stands, in another folder, it does what it says."""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
import urllib.error
import urllib.request
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.errors import SdkError
from tests.behaviour.gateway import ROOT, Gateway, config, running, server
from tests.behaviour.hosts import host
from tests.behaviour.test_hints import at_a_terminal, typed

_COMMAND = re.compile(r"`([^`]*gatewright [^`]*)`")


def commands(text: str) -> list[str]:
    """All that are shown."""
    return _COMMAND.findall(text)


def end(gateway: Gateway, tool: str, key: str | None = None, **given: Any) -> tuple[bool, str]:
    """Whether a call passed, and what was said."""
    options = Options(mgp=None, retry=None, bearer=key)
    try:
        with SyncClient(gateway.urls["mcp"], options) as client:
            found = client.call_tool(tool, given)
    except SdkError as problem:
        return False, str(problem)
    return not found.is_error, found.text


def turned_away(gateway: Gateway, key: str | None) -> str:
    """What a client without a good key is told; empty where it was let in."""
    head = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    if key is not None:
        head["Authorization"] = f"Bearer {key}"
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    url, sent = gateway.urls["mcp"], json.dumps(body).encode()
    asked = urllib.request.Request(url, sent, head)  # noqa: S310 - it is ours
    try:
        with urllib.request.urlopen(asked, timeout=30):  # noqa: S310 - the same
            return ""
    except urllib.error.HTTPError as refused:
        message: str = json.loads(refused.read())["error"]["message"]
        return message


def check_lifted(
    gateway: Gateway, tool: str, which: str, key: str | None = None, **given: Any
) -> str:
    """Make a call that is refused, type the command of the message that has these words, and make it again until it passes.
    What the command printed."""
    passed, said = end(gateway, tool, key, **given)
    assert not passed, said
    found = [one for one in commands(said) if which in one]
    assert found, said
    printed = at_a_terminal(found[-1])
    check_passes(gateway, tool, key, **given)
    return printed


def check_passes(gateway: Gateway, tool: str, key: str | None = None, **given: Any) -> None:
    """Make a call until it passes: a running gateway hears of what was typed soon."""
    passed, said = False, ""
    deadline = time.monotonic() + 30
    while not passed and time.monotonic() < deadline:
        passed, said = end(gateway, tool, key, **given)
    assert passed, said


def test_a_missing_grant_is_given_by_the_command_that_is_shown(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"), server("echo", "a-b"), grants=[])) as gateway:
        for tool in ("echo__echo", "a-b__echo"):
            check_lifted(gateway, tool, "grant add", message="x")


def test_a_tool_whose_caller_cannot_be_asked_is_granted_by_the_command_that_is_shown(
    tmp_path: Path,
) -> None:
    content = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        approvals={"approver": "caller"},
    )
    with running(tmp_path, content) as gateway:
        check_lifted(gateway, "echo__echo", "grant add", message="x")


def test_a_definition_that_is_held_back_is_accepted_by_the_command_that_is_shown(
    tmp_path: Path,
) -> None:
    with running(tmp_path, config(server("echo", pin="approve"))) as gateway:
        passed, said = end(gateway, "echo__echo", message="x")
        assert not passed
        shown = typed(commands(said)[0]).stderr.decode()
        accepts = [one for one in commands(shown) if "--accept" in one and "--digest" in one]
        assert accepts, shown
        at_a_terminal(accepts[0])
        check_passes(gateway, "echo__echo", message="x")


@pytest.mark.parametrize("policy", ["interactive", "deny_all"])
def test_a_permission_of_a_server_is_given_by_the_command_that_is_shown(
    tmp_path: Path, policy: str
) -> None:
    mgp = {"extensions": ["security", "audit"], "permission_policy": policy}
    one = server("permits", "one", "--needs", "camera,memory.read", mgp=mgp)
    with running(tmp_path, config(one, approvals={"hold_s": 0})) as gateway:
        check_lifted(gateway, "one__open", "server permit")


def test_a_permission_of_a_tool_that_its_server_lacks_is_given_by_the_command_that_is_shown(
    tmp_path: Path,
) -> None:
    mgp = {"extensions": ["security", "audit"], "missing_permissions": "degrade"}
    one = server("permits", "one", "--needs", "camera", mgp=mgp)
    with running(tmp_path, config(one, approvals={"hold_s": 0})) as gateway:
        check_lifted(gateway, "one__guarded", "server permit")


def test_a_permission_that_a_caller_lacks_is_given_by_the_command_that_is_shown(
    tmp_path: Path,
) -> None:
    one = server("echo", tools={"echo": {"permissions_required": ["camera"]}})
    with running(tmp_path, config(one, approvals={"hold_s": 0})) as gateway:
        check_lifted(gateway, "echo__echo", "grant add", message="x")


@pytest.mark.parametrize("key", [None, "gw_unknown_key", "revoked", "expired"])
def test_a_key_is_made_by_the_command_that_is_shown(tmp_path: Path, key: str | None) -> None:
    content = config(server("echo"), gateway={"anonymous": "deny"})
    with running(tmp_path, content) as gateway:
        if key in ("revoked", "expired"):
            typed = f"GATEWRIGHT_STATE={gateway.folder / 'state'} gatewright key"
            name = key
            key = at_a_terminal(f"{typed} create {name} --expires 3s").split()[0]
            if name == "revoked":
                at_a_terminal(f"{typed} revoke {key.split('_')[1]}")
        deadline = time.monotonic() + 30
        while not (said := turned_away(gateway, key)) and time.monotonic() < deadline:
            time.sleep(0.05)
        made = at_a_terminal(commands(said)[-1]).split()[0]
        assert end(gateway, "echo__echo", made, message="x")[0]


@pytest.mark.parametrize(
    ("limits", "tool", "given"),
    [
        ("--trust untrusted", "echo__echo", {"message": "x"}),
        ("--permission 'ToolInvoke(echo/other)'", "echo__echo", {"message": "x"}),
        ("--resource '/srv/data/**'", "echo__echo", {"message": "/etc/hostname"}),
    ],
    ids=["trust", "permission", "resource"],
)
def test_a_key_that_may_do_more_is_made_by_the_command_that_is_shown(
    tmp_path: Path, limits: str, tool: str, given: dict[str, str]
) -> None:
    """Each limit that a key can carry: the command makes one that carries less of it, for the same agent."""
    content = config(
        server("echo", tools={"echo": {"risk_level": "moderate"}}),
        gateway={"anonymous": "deny"},
    )
    with running(tmp_path, content) as gateway:
        typed = f"GATEWRIGHT_STATE={gateway.folder / 'state'} gatewright key create ann {limits}"
        key = at_a_terminal(typed).split()[0]
        passed, said = end(gateway, tool, key, **given)
        assert not passed, said
        better = at_a_terminal(commands(said)[-1]).split()[0]
        assert end(gateway, tool, better, **given) == (True, given["message"])


def test_a_server_that_failed_for_good_is_tried_anew_by_the_command_that_is_shown(
    tmp_path: Path,
) -> None:
    """Its program is missing, and is there when the command is typed."""
    program = tmp_path / "later"
    one = {"id": "late", "command": str(program), "args": [], "mgp": {"restart_policy": "never"}}
    with running(tmp_path, config(one)) as gateway:
        assert "is not connected" in end(gateway, "late__echo", message="x")[1]
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {ROOT}/tests/tool_servers/echo.py\n")
        program.chmod(0o755)
        check_lifted(gateway, "late__echo", "server restart", message="x")


def test_a_server_that_was_stopped_is_started_by_the_command_that_is_shown(tmp_path: Path) -> None:
    with running(tmp_path, config(server("echo"))) as gateway:
        gateway.cli("server", "stop", "echo")
        check_lifted(gateway, "echo__echo", "server start", message="x")


def test_a_quota_that_is_used_up_has_room_again_when_the_message_says_so(tmp_path: Path) -> None:
    limits = {"calls": {"caller": {"per_second": 1}}}
    with running(tmp_path, config(server("echo"), limits=limits)) as gateway:
        said = next(
            text
            for _ in range(50)
            for ok, text in [end(gateway, "echo__echo", message="x")]
            if not ok
        )
        wait = re.search(r"in (\d+) ms", said)
        assert wait is not None, said
        time.sleep(int(wait[1]) / 1000 + 0.05)
        assert end(gateway, "echo__echo", message="x")[0]


async def test_a_task_that_waits_says_the_command_that_lets_it_run(tmp_path: Path) -> None:
    content = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        approvals={"approver": "operator", "hold_s": 20},
    )
    with running(tmp_path, content) as gateway:
        async with AsyncExitStack() as stack:
            client = await stack.enter_async_context(host(gateway, "http 2025-11-25"))
            params = {"name": "echo__echo", "arguments": {"message": "x"}, "task": {"ttl": 60000}}
            made = (await client.request("tools/call", params))["task"]
            found = commands(made["statusMessage"])
            assert found, made
            await asyncio.to_thread(at_a_terminal, found[0])
            result = await client.request("tasks/result", {"taskId": made["taskId"]})
            assert not result.get("isError"), result


async def test_a_call_that_is_held_says_meanwhile_which_command_lets_it_run(tmp_path: Path) -> None:
    content = config(
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
        approvals={"approver": "operator", "hold_s": 20},
    )
    with running(tmp_path, content) as gateway:
        async with host(gateway, "http 2025-11-25") as client:
            params = {
                "name": "echo__echo",
                "arguments": {"message": "x"},
                "_meta": {"progressToken": 1},
            }
            ident = await client.start("tools/call", params)
            note = await client.note("notifications/progress")
            await asyncio.to_thread(at_a_terminal, commands(note["params"]["message"])[0])
            assert not (await client.finish(ident)).get("isError")

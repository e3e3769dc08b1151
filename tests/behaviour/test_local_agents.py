"""Hosts of this machine without keys: each is an agent of its own, in grants and in the record, and none is somebody else."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests import fork_server
from tests.behaviour.gateway import COMMAND, DEADLINE, Gateway, config, running, write
from tests.behaviour.test_plain_clients import SHOP, Ask, piped

CALL = {"name": "shop__add", "arguments": {"a": 2, "b": 3}}
CONTENT = config(
    {"id": "shop", "command": SHOP[0], "args": SHOP[1:]},
    grants=[
        {"agent": "cursor", "server": "shop", "tool": "add", "permission": "deny"},
        {"agent": "zed", "server": "shop", "permission": "deny"},
        {"agent": "zed", "server": "shop", "tool": "add"},
        {"agent": "build-bot", "server": "shop"},
    ],
    gateway={"anonymous": "deny"},
    agents={"goose": {"trust_level": "untrusted"}},
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that lets nobody in without a credential."""
    with running(tmp_path_factory.mktemp("local"), CONTENT) as gateway:
        yield gateway


def hello(ask: Ask, **info: Any) -> None:
    """Open a session as a program that calls itself so."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
    assert "result" in ask("initialize", opening)


def added(ask: Ask) -> str:
    """The sum, or the first line of the refusal."""
    text: str = ask("tools/call", CALL)["result"]["content"][0]["text"]
    return text.splitlines()[0]


def listed(ask: Ask) -> set[str]:
    return {one["name"] for one in ask("tools/list", {})["result"]["tools"]}


def bridge(house: Gateway, *words: str) -> list[str]:
    return [*COMMAND, "bridge", *words, "--config", str(house.file)]


SUM = "5"
DENIED = "cursor may not use the tool shop__add: it needs a grant from the operator"


def test_two_hosts_have_grants_of_their_own_and_the_record_names_them(house: Gateway) -> None:
    with (
        piped(bridge(house, "--as", "cursor")) as cursor,
        piped(bridge(house, "--as", "claude-code")) as claude,
        piped(bridge(house, "--as", "zed")) as zed,
        piped(bridge(house, "--as", "goose")) as goose,
        piped(bridge(house)) as nameless,
    ):
        hello(cursor, name="Cursor", version="1.2.3")
        hello(claude, name="claude-code\u202e", version=3)
        for ask in (zed, goose, nameless):
            hello(ask)
        assert added(cursor).startswith(DENIED)
        assert (added(claude), added(nameless), added(zed)) == (SUM, SUM, SUM)
        assert "goose is trusted as untrusted" in added(goose)
        assert "shop__add" not in listed(cursor)
        assert "shop__add" in listed(claude)
        assert listed(zed) & {"shop__add", "shop__refuse"} == {"shop__add"}
    ended = {one["actor"]["id"]: one for one in house.audit("--tool", "add") if "result" in one}
    assert {id: one["actor"]["type"] for id, one in ended.items()} == dict.fromkeys(
        ("claude-code", "local", "zed"), "owner"
    )
    assert ended["claude-code"]["client"] == {"name": "claude-code\\u202e"}
    assert "client" not in ended["local"]
    (denied,) = house.audit("--agent", "cursor", "--tool", "add")
    assert (denied["outcome"], denied["decision"]["gate"]) == ("denied", "access")
    assert denied["client"] == {"name": "Cursor", "version": "1.2.3"}


def test_a_host_that_starts_a_gateway_of_its_own_is_an_agent_too(tmp_path: Path) -> None:
    file = write(tmp_path, CONTENT)
    told = [*COMMAND, "serve", "--stdio", "--config", str(file)]
    with piped([*told, "--as", "cursor"]) as cursor:
        hello(cursor, name="Cursor", version="1")
        assert added(cursor).startswith(DENIED)
    with piped(told) as nameless:
        hello(nameless)
        assert added(nameless) == SUM
    done = fork_server.run(
        [*COMMAND, "audit", "query", "--json", "--tool", "add", "--config", str(file)],
        capture_output=True,
        check=True,
        timeout=DEADLINE,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    ended = [one for one in records if one.get("method") and one["outcome"] != "pending"]
    actors = {(one["actor"]["id"], one["outcome"]) for one in ended}
    assert actors == {("cursor", "denied"), ("local", "success")}


@pytest.mark.parametrize("command", [("bridge",), ("serve", "--stdio")])
@pytest.mark.parametrize("name", ["build-bot", "local", "operator", "anonymous", "Cursor", ""])
def test_a_name_that_is_no_host_is_refused_with_those_that_are(
    house: Gateway, command: tuple[str, ...], name: str
) -> None:
    done = fork_server.run(
        [*COMMAND, *command, "--as", name, "--config", str(house.file)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=DEADLINE,
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"is no host; these are: claude-desktop" in done.stderr


@pytest.mark.parametrize(
    "shown",
    [
        "{token}~build-bot",
        "{token}~local",
        "{token}~",
        "{token}~Cursor",
        "{token}~cursor~",
        "{token}~cursor~zed",
        "{token}~~cursor",
        "~cursor",
        "{operator}~cursor",
        "{operator}~local",
        "{key}~cursor",
    ],
)
def test_nobody_becomes_somebody_by_a_made_up_name(house: Gateway, shown: str, key: str) -> None:
    """Neither an agent with a key, nor an operator, nor a host by a credential that is not the local token."""
    state = json.loads((house.folder / "state" / "gateway.json").read_text())
    tokens = {"token": state["local_token"], "operator": state["operator_token"], "key": key}
    header = {"Authorization": f"Bearer {shown.format(**tokens)}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}
    request = urllib.request.Request(  # noqa: S310 - localhost
        house.url,
        json.dumps(body).encode(),
        {"Content-Type": "application/json", "Accept": "application/json", **header},
    )
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(request, timeout=DEADLINE)  # noqa: S310 - localhost
    socket = house.url.replace("http://", "ws://")
    with pytest.raises(InvalidStatus, match="401"):
        connect(socket, additional_headers=header, open_timeout=DEADLINE).close()


@pytest.fixture(scope="module")
def key(house: Gateway) -> str:
    """A key of an agent, made with the word of whoever runs the gateway."""
    done = house.cli("key", "create", "build-bot", "--json", "--key", house.operator_token)
    return str(json.loads(done)["key"])


def test_what_would_be_is_said_of_a_host_as_what_is(house: Gateway) -> None:
    def explained(agent: str) -> tuple[str, str]:
        words = ("policy", "explain", agent, "shop__add", "a=2", "b=3", "--json")
        found = json.loads(house.cli(*words, "--key", house.operator_token))
        return found["agent"]["kind"], found["verdict"]

    assert explained("cursor") == ("owner", "refuse")
    assert explained("claude-code") == ("owner", "pass")
    assert explained("local") == ("owner", "pass")
    assert explained("nobody-at-all") == ("agent", "refuse")

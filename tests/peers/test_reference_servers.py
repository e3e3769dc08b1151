"""The reference servers behind the gateway: what a host sees there is what it sees of the server itself.

Each peer asks the same questions twice, of the server directly and through the gateway, and the answers
are compared whole. Hosts of the modern era could not talk to these servers at all without the gateway;
what they see is compared with what the same SDK sees in the handshake era.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import NODE, PACKAGES, Peer, free_port, listening, seen, target

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

SERVERS = PACKAGES / "@modelcontextprotocol"
EVERYTHING = [NODE, str(SERVERS / "server-everything" / "dist" / "index.js")]
FILESYSTEM = [NODE, str(SERVERS / "server-filesystem" / "dist" / "index.js")]
PEERS = (
    Peer("sdk1", "http"),
    Peer("ts1", "http"),
    *(Peer(name, "http", era) for name in ("sdk2", "ts2") for era in ("legacy", "modern")),
)
ASKS_FOR_URLS = {"trigger-url-elicitation"}
"""Offered to clients that can open URLs. The gateway says it can, because some of its hosts can."""


def call(name: str, **arguments: Any) -> list[Any]:
    return ["tools/call", {"name": name, "arguments": arguments}]


def read(uri: str) -> list[Any]:
    return ["resources/read", {"uri": uri}]


SCRIPT: list[Any] = [
    ["tools/list", {}],
    call("echo", message="hällo"),
    call("get-sum", a=2, b=3.5),
    call("get-structured-content", location="New York"),
    call("get-annotated-message", messageType="error", includeImage=True),
    call("get-tiny-image"),
    call("get-resource-links", count=2),
    call("get-resource-reference", resourceType="Text", resourceId=1),
    call("trigger-elicitation-request"),
    call("trigger-sampling-request", prompt="Say a word", maxTokens=5),
    call("trigger-long-running-operation", duration=0.3, steps=3),
    ["resources/list", {}],
    ["resources/templates/list", {}],
    read("demo://resource/static/document/startup.md"),
    read("demo://resource/dynamic/text/7"),
    ["prompts/list", {}],
    ["prompts/get", {"name": "simple-prompt", "arguments": {}}],
    ["prompts/get", {"name": "args-prompt", "arguments": {"city": "Oslo", "state": "NO"}}],
    [
        "completion/complete",
        {
            "ref": {"type": "ref/prompt", "name": "completable-prompt"},
            "argument": {"name": "department", "value": "E"},
        },
    ],
]


LONG = next(n for n, line in enumerate(SCRIPT) if "long-running" in str(line))


def asked(peer: Peer, place: Any, script: list[Any]) -> dict[str, Any]:
    """What a peer saw; times of day are none of our business."""
    visit = {"server": "s", "key": peer.key, "script": script}
    found = seen(peer, [{"target": place, "visits": [visit]}])["s"]
    assert isinstance(found["script"], dict), found["script"]
    answers: dict[str, Any] = _timeless(found["script"])
    return answers


def _timeless(value: Any) -> Any:
    if isinstance(value, str):
        return re.sub(r"\d+:\d\d:\d\d [AP]M", "TIME", value)
    if isinstance(value, list):
        return [_timeless(one) for one in value]
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items()}
    return value


@cache
def directly(name: str) -> dict[str, Any]:
    """What an SDK sees of server-everything itself."""
    return asked(Peer(name, "stdio"), [*EVERYTHING, "stdio"], SCRIPT)


@contextmanager
def everything(transport: str) -> Iterator[dict[str, Any]]:
    """Its `[[servers]]` entry."""
    if transport == "stdio":
        command, *arguments = [*EVERYTHING, "stdio"]
        yield {"id": "e", "command": command, "args": arguments}
        return
    serving = [*EVERYTHING, "streamableHttp"]
    with listening(serving, env={"PORT": str(free_port())}, ready="listening on port") as ready:
        yield {"id": "e", "url": f"http://127.0.0.1:{ready.split()[-1]}/mcp"}


@pytest.fixture(scope="module", params=["stdio", "http"])
def before_everything(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("everything")
    with everything(request.param) as server:
        content = config(server, gateway={"unprefixed": True})
        with running(folder, content) as gateway:
            yield gateway


def compared(peer: Peer, found: dict[str, Any], *, modern: bool) -> dict[str, Any]:
    """What can be compared: the tools by name, and the answers by what was asked.

    Progress is looked at apart: TypeScript clients lose what comes in one breath with the result, and
    report rounds of questions as progress of their own. Their modern era knows no `execution`.
    """
    listed, *answers = found["answers"]
    tools = {one["name"]: dict(one) for one in listed["tools"]}
    for one in tools.values():
        if modern and peer.driver == "ts2":
            one.pop("execution", None)
    asked_for = [f"{number} {line[0]}" for number, line in enumerate(SCRIPT)][1:]
    plain = [{k: v for k, v in one.items() if k != "progress"} for one in answers]
    return {
        "tools": {name: one for name, one in tools.items() if name not in ASKS_FOR_URLS},
        "answers": dict(zip(asked_for, plain, strict=True)),
        "asked": found["asked"],
    }


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_mgp_1_3_1_server_everything_is_the_same_through_the_gateway(
    before_everything: Gateway, peer: Peer
) -> None:
    found = asked(peer, target(before_everything, peer), SCRIPT)
    expected = directly(peer.driver)
    assert compared(peer, found, modern=peer.modern) == compared(peer, expected, modern=peer.modern)
    assert found["answers"][LONG]["progress"] == [[1, 3], [2, 3], [3, 3]]


def test_arguments_that_the_schema_forbids_never_reach_the_server(
    before_everything: Gateway,
) -> None:
    peer = Peer("sdk2", "http")
    found = asked(peer, target(before_everything, peer), [call("echo"), call("get-sum", a="x")])
    assert found["answers"] == [-32602, -32602]


FILES: list[Any] = [
    ["tools/list", {}],
    call("list_allowed_directories"),
    call("write_file", path="HERE/notes.txt", content="one\ntwo\n"),
    call("read_text_file", path="HERE/notes.txt", tail=1),
    call("edit_file", path="HERE/notes.txt", edits=[{"oldText": "two", "newText": "three"}]),
    call("list_directory", path="HERE"),
    call("search_files", path="HERE", pattern="**/*.txt"),
    call("read_text_file", path="/etc/hostname"),
]


def filed(peer: Peer, place: Any, root: Path) -> dict[str, Any]:
    """What a peer saw of a folder of its own below `root`, without the names of both."""
    mine = root / peer.key
    mine.mkdir()
    found = asked(peer, place, json.loads(json.dumps(FILES).replace("HERE", str(mine))))
    assert (mine / "notes.txt").read_text() == "one\nthree\n"
    text = json.dumps(found).replace(str(mine), "HERE").replace(str(root), "ROOT")
    shown: dict[str, Any] = json.loads(text)
    return shown


@pytest.fixture(scope="module")
def before_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of server-filesystem on the folder `files`."""
    folder: Path = tmp_path_factory.mktemp("filesystem")
    (folder / "files").mkdir()
    command, *arguments = [*FILESYSTEM, str(folder / "files")]
    server = {"id": "f", "command": command, "args": arguments}
    with running(folder, config(server, gateway={"unprefixed": True})) as gateway:
        yield gateway


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_mgp_1_3_1_server_filesystem_is_the_same_through_the_gateway(
    before_files: Gateway, tmp_path: Path, peer: Peer
) -> None:
    found = filed(peer, target(before_files, peer), before_files.folder / "files")
    direct = filed(Peer(peer.driver, "stdio"), [*FILESYSTEM, str(tmp_path)], tmp_path)
    if peer.modern and peer.driver == "ts2":
        for one in direct["answers"][0]["tools"]:
            one.pop("execution", None)
    assert found == direct
    assert found["answers"][-1]["isError"]

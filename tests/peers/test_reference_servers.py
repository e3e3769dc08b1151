"""The reference servers behind the gateway: what a host sees there is what it sees of the server itself.

Each SDK asks the same questions twice, of the servers directly and through the gateway, and the answers
are compared whole. Hosts of the modern era could not talk to these servers at all without the gateway;
what they see is compared with what the same SDK sees in the handshake era.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers.peers import NODE, PACKAGES, Peer, free_port, listening, profiles, seen, target

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

Seen = Callable[[Peer], dict[str, Any]]


def call(name: str, **arguments: Any) -> list[Any]:
    return ["tools/call", {"name": name, "arguments": arguments}]


def read(uri: str) -> list[Any]:
    return ["resources/read", {"uri": uri}]


ASKED: list[Any] = [
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
LONG = next(n for n, line in enumerate(ASKED) if "long-running" in str(line))
WRONG = [call("echo"), call("get-sum", a="x")]
"""Arguments that the schema forbids; asked through the gateway only."""

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


def visits(peer: Peer, root: Path, places: dict[str, Any], script: list[Any]) -> dict[str, Any]:
    """What a peer saw at each place. For server-filesystem it has a folder of its own below `root`,
    whose name is left out again, as times of day are."""
    mine = root / peer.key
    mine.mkdir()
    files = json.loads(json.dumps(FILES).replace("HERE", str(mine)))
    plan = [
        {
            "target": place,
            "visits": [
                {
                    "server": name,
                    "key": peer.key,
                    "script": files if name == "files" else script,
                }
            ],
        }
        for name, place in places.items()
    ]
    text = json.dumps(seen(peer, plan)).replace(str(mine), "HERE").replace(str(root), "ROOT")
    text = re.sub(r"\d+:\d\d:\d\d [AP]M", "TIME", text)
    text = re.sub(
        r'Server \\"(stdio|http|files)\\" asks: ', "", text
    )  # what the gateway puts before a question
    found: dict[str, Any] = json.loads(text)
    assert (mine / "notes.txt").read_text() == "one\nthree\n"
    return {name: one["script"] for name, one in found.items()}


@contextmanager
def everything_over_http() -> Iterator[dict[str, Any]]:
    """Its `[[servers]]` entry."""
    serving = [*EVERYTHING, "streamableHttp"]
    with listening(serving, env={"PORT": str(free_port())}, ready="listening on port") as ready:
        yield {"id": "http", "url": f"http://127.0.0.1:{ready.split()[-1]}/mcp"}


@pytest.fixture(scope="module")
def before(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of server-everything, twice, and of server-filesystem on the folder `files`."""
    folder: Path = tmp_path_factory.mktemp("reference")
    (folder / "files").mkdir()
    command, *arguments = [*FILESYSTEM, str(folder / "files")]
    with everything_over_http() as http:
        servers = [
            {"id": "stdio", "command": NODE, "args": [EVERYTHING[1], "stdio"]},
            http,
            {"id": "files", "command": command, "args": arguments},
        ]
        said = {"approver": "caller", "hints": "off"}
        content = config(*servers, profiles=profiles(*servers), approvals=said)
        with running(folder, content) as gateway:
            yield gateway


@pytest.fixture(scope="module")
def through(before: Gateway) -> Seen:
    """What a peer saw through the gateway."""

    @cache
    def look(peer: Peer) -> dict[str, Any]:
        places = {name: target(before, peer, name) for name in ("stdio", "http", "files")}
        return visits(peer, before.folder / "files", places, [*ASKED, *WRONG])

    return look


@pytest.fixture(scope="module")
def directly(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What a peer's SDK saw of the servers themselves."""

    @cache
    def look(driver: str) -> dict[str, Any]:
        root: Path = tmp_path_factory.mktemp("direct")
        places = {"stdio": [*EVERYTHING, "stdio"], "files": [*FILESYSTEM, str(root)]}
        return visits(Peer(driver, "stdio"), root, places, ASKED)

    return lambda peer: json.loads(json.dumps(look(peer.driver)))


def compared(peer: Peer, found: dict[str, Any]) -> dict[str, Any]:
    """What can be compared: the tools by name, and the answers by what was asked.

    Progress is looked at apart: TypeScript clients lose what comes in one breath with the result, and
    report rounds of questions as progress of their own. Their modern era knows no `execution`.
    """
    listed, *answers = found["answers"][: len(ASKED)]
    tools = {one["name"]: dict(one) for one in listed["tools"]}
    for one in tools.values():
        if peer.modern and peer.driver == "ts2":
            one.pop("execution", None)
    asked_for = [f"{number} {line[0]}" for number, line in enumerate(ASKED)][1:]
    plain = [{k: v for k, v in one.items() if k != "progress"} for one in answers]
    return {
        "tools": {name: one for name, one in tools.items() if name not in ASKS_FOR_URLS},
        "answers": dict(zip(asked_for, plain, strict=False)),
        "asked": found["asked"],
    }


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_mgp_1_3_1_server_everything_is_the_same_through_the_gateway(
    through: Seen, directly: Seen, peer: Peer, transport: str
) -> None:
    found = through(peer)[transport]
    assert compared(peer, found) == compared(peer, directly(peer)["stdio"])
    assert found["answers"][LONG]["progress"] == [[1, 3], [2, 3], [3, 3]]


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_mgp_1_3_1_server_filesystem_is_the_same_through_the_gateway(
    through: Seen, directly: Seen, peer: Peer
) -> None:
    found = through(peer)["files"]
    assert compared(peer, found) == compared(peer, directly(peer)["files"])
    assert found["answers"][-1]["isError"]


@pytest.mark.parametrize("peer", PEERS, ids="-".join)
def test_arguments_that_the_schema_forbids_never_reach_the_server(
    through: Seen, peer: Peer
) -> None:
    for transport in ("stdio", "http"):
        # As a tool error that the model can read (decision C-61).
        for refused in through(peer)[transport]["answers"][len(ASKED) :]:
            assert refused["isError"] is True
            assert '"invalid_args"' in refused["content"][0]["text"]

"""What servers say, through every door: docs/messages.md, the column of servers, for each message in each form with each kind of id.

A server says all of it in the middle of a call of one caller, who is subscribed, has a task and waits for another call; a second caller with
connections of its own to the same servers has the same. What names the second caller's things, or what never was, is heard by nobody.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gatewright.mcp.wire.versions import LATEST_MODERN as MODERN
from gatewright.mcp.wire.versions import LEGACY
from tests.behaviour.gateway import Gateway, running
from tests.behaviour.hosts import EVERY_DOOR, Host, host
from tests.behaviour.messages import (
    CAN,
    IDS,
    PAGE,
    Case,
    Row,
    beside,
    cases,
    content,
    logged,
    quiet,
    speaking,
)
from tests.behaviour.test_task_handles import keys

SERVERS = {f"s{n}": revision for n, revision in enumerate((*LEGACY, MODERN))}
WITH_MGP = "m"
EXTENSIONS = ("streaming", "bidirectional", "lifecycle")
"""What a server of MGP negotiates that says something by it."""
ANSWERED = frozenset({"ping", "roots/list", "sampling/createMessage", "elicitation/create"})
LEVEL = "io.modelcontextprotocol/logLevel"
TO_US = "mgp/permission/"
"""What a server asks the gateway itself."""
QUIET = frozenset(
    {
        "notifications/cancelled",
        "notifications/subscriptions/acknowledged",
        "notifications/elicitation/complete",
        "notifications/tasks",
        *(f"notifications/{kind}/list_changed" for kind in ("tools", "prompts", "resources")),
    }
)
"""What is not told as it was said: about a question, a subscription or a page that there is not, or by what has changed."""

OF_LEGACY = frozenset({"notifications/resources/updated", "notifications/tasks/status"})
"""What only those are told who subscribed, and made a task, as the legacy revisions do it."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("messages-of-servers")
    whole = content(folder, *SERVERS.items())
    whole["servers"].append(speaking(folder, WITH_MGP, extensions=EXTENSIONS))
    whole["grants"].append({"agent": "*", "server": WITH_MGP})
    with running(folder, whole) as found:
        yield found


def words(case: Case, task: str) -> dict[str, Any]:
    """The params of what a server says."""
    own, made_up = case.ident == "own", 4711
    token: Any = {"own": "$ID", "foreign": 5000, "forged": made_up}[case.ident]
    uri = {"own": "speak://ann", "foreign": "speak://bob", "forged": "speak://none"}[case.ident]
    said: dict[str, Any] = {"x": case.tag, "uri": uri, "progressToken": token, "progress": 1}
    said |= {"taskId": task if own else f"T-{token}", "requestId": token, "request_id": token}
    said |= {"elicitationId": f"e-{case.ident}", "level": "error", "data": case.tag}
    form = {"type": "object", "properties": {}}
    said |= {"message": case.tag, "requestedSchema": form, "messages": [], "maxTokens": 1}
    return said | {"event_type": "x", "status": "working"}


def frame(case: Case, task: str) -> dict[str, Any]:
    """The message of one case."""
    if case.form == "notification":
        return {"method": case.row.method, "params": words(case, task)}
    if case.form == "request":
        return {"id": case.tag, "method": case.row.method, "params": words(case, task)}
    ident: Any = {"own": 4710, "foreign": 5000, "forged": case.tag}[case.ident]
    return {"id": ident, "result": {"x": case.tag}}


def of_mgp(case: Case) -> dict[str, Any]:
    """One of MGP's, which is about a call, a subscription or a callback and about nothing else."""
    said: dict[str, Any] = {"request_id": words(case, "")["request_id"], "type": "input"}
    said |= {"callback_id": case.tag, "message": case.tag, "progress": 0.5, "chars": 1, "index": 0}
    said |= {"subscription_id": f"s-{case.ident}", "channel": "tool.x", "data": case.tag}
    said |= {"content": {"type": "text", "text": f"{case.tag}\n"}, "x": case.tag}
    return {"method": case.row.method, "params": said}


def told(case: Case, server: str, client: str) -> bool:
    """Whether the caller hears a notification as the page says it."""
    row = case.row
    if (
        not row.notification
        or row.server != "passes"
        or not (row.within(server) and row.within(client))
    ):
        return False
    if row.method.startswith("notifications/mgp."):
        return False  # these servers negotiated nothing of MGP
    if row.method == "notifications/message":
        return True  # about no call in particular: it is of the one that runs
    silent = QUIET | (OF_LEGACY if client == MODERN else frozenset())
    return case.ident == "own" and row.method not in silent


def asked_of(row: Row, server: str) -> str:
    """How a server is answered that asks."""
    passes = row.server == "passes" and row.within(server) and not row.notification
    return "answered" if passes else "-32601"


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "roots/list":
        return {"roots": []}
    if method == "elicitation/create":
        return {"action": "decline"}
    return {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m"}


async def begun(client: Host, name: str) -> str:
    """The task of a caller at one server, which it has called before and to whose resource it is subscribed."""
    await quiet(client, f"{name}__say")
    if not client.modern:
        for uri in ("ann", "bob"):
            listed = await client.request("resources/list")
            mine = [one for one in listed["resources"] if name in one["uri"] and uri in one["uri"]]
            if uri == "ann":
                await client.request("resources/subscribe", {"uri": mine[0]["uri"]})
    if client.revision == "2025-11-25":
        await client.request("tools/call", {"name": f"{name}__say", "arguments": {}, "task": {}})
    return "T-1"


@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_what_servers_say_becomes_what_the_page_says(gateway: Gateway, door: str) -> None:
    ann, bob = keys(gateway.folder, "ann", "bob")
    other = beside(door)
    async with (
        host(gateway, door, can=CAN, headers=ann, answer=answer) as mine,
        host(gateway, other, can=CAN, headers=bob, answer=answer) as theirs,
    ):
        for name, revision in SERVERS.items():
            await begun(mine, name)
            await begun(theirs, name)
            await _all_of(gateway, mine, name, revision)
        frames = [json.loads(one) for one in mine.frames]
        assert [one for one in theirs.frames if b" as a " in one] == []
    for name, revision in SERVERS.items():
        heard = {
            one["params"]["x"]
            for one in frames
            if "id" not in one and str(one.get("params", {}).get("x", "")).startswith(name)
        }
        assert heard == {
            f"{name} {one.tag}"
            for ident in IDS
            for one in cases("notification", ident)
            if told(one, revision, mine.revision)
        }, name
    assert [one for one in frames if " as a response " in json.dumps(one)] == []
    asked = {one["method"] for one in frames if "method" in one and "id" in one}
    assert asked <= ANSWERED - {"ping"}


@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_what_a_server_of_mgp_says_of_what_is_no_call_of_its_callers_is_heard_by_nobody(
    gateway: Gateway, door: str
) -> None:
    """That one's own is heard: test_streaming, test_events, test_callbacks."""
    ann, bob = keys(gateway.folder, "ann", "bob")
    async with (
        host(gateway, door, can=CAN, headers=ann, answer=answer) as mine,
        host(gateway, beside(door), can=CAN, headers=bob, answer=answer) as theirs,
    ):
        for one in (mine, theirs):
            await quiet(one, f"{WITH_MGP}__say")
            if not one.modern:
                await one.request("mgp/events/subscribe", {"channels": ["tool.*"]})
        said = [
            of_mgp(one)
            for ident in ("foreign", "forged")
            for one in cases("notification", ident)
            if one.row.method.startswith("notifications/mgp.")
        ]
        assert len(said) == 16
        own = {"request_id": "$ID", "index": 0, "content": {"type": "text", "text": "its own\n"}}
        said.append({"method": "notifications/mgp.stream.chunk", "params": own})
        call = {"name": f"{WITH_MGP}__say", "arguments": {"said": said}, "_mgp": {"stream": True}}
        assert "said" in json.dumps(await mine.request("tools/call", call))
        await theirs.tools()
        heard = b"".join((*mine.frames, *theirs.frames))
    assert b" as a notification " not in heard
    assert b"its own" in heard


async def _all_of(gateway: Gateway, client: Host, name: str, revision: str) -> None:
    """Have a server say everything, and look at how it is answered."""
    for form in ("notification", "request", "response"):
        for ident in IDS:
            frames = [frame(one, "T-1") for one in cases(form, ident)]
            text = json.dumps(frames)
            for one in PAGE:
                text = text.replace(f'"{one.method} as a', f'"{name} {one.method} as a')
            call = {"name": f"{name}__say", "arguments": {"said": json.loads(text)}}
            meta = {"progressToken": "mine"} | ({LEVEL: "debug"} if client.modern else {})
            await client.request("tools/call", {**call, "_meta": meta})
    replies = {
        str(one["id"]).removeprefix(f"{name} "): str(one.get("error", {}).get("code", "answered"))
        for one in logged(gateway, name)
        if "method" not in one and str(one.get("id", "")).startswith(name)
    }
    for ident in IDS:
        for case in cases("request", ident):
            ours = case.row.method.startswith(TO_US) or case.row.method in ANSWERED
            assert ours or replies[case.tag] == asked_of(case.row, revision), (name, case.tag)

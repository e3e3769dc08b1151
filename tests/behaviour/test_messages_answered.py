"""The doors at which callers are only answered: docs/messages.md, the table of doors, for each message in each form with each kind of id.

In front of the same server as `test_messages`, beside a host of MCP that has a call, a question and a task of its own: nothing that is said
at these doors concerns it, and nothing that a server says in the middle of a call from there is heard, at these doors or by that host.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any, TypeGuard

import pytest

from gatewright.app.addresses import urls_of
from gatewright.mcp.server.endpoints import DOORS
from tests.behaviour.answered import ANSWERED, Answered, answered
from tests.behaviour.gateway import ROOT, Gateway, running
from tests.behaviour.hosts import EVERY_DOOR, host
from tests.behaviour.messages import (
    CAN,
    IDS,
    MADE_UP,
    PAGE,
    Case,
    cases,
    content,
    logged,
    unlimited,
)
from tests.behaviour.test_messages import OWN_ACCOUNT, TOOLS, Visitor, params_of
from tests.behaviour.test_messages_servers import frame
from tests.behaviour.test_task_handles import keys

TAKES = {one.name: one.takes for one in DOORS}
FORGED = "said by nobody who was asked"
OWN_ANSWERED = frozenset({"ping", "mgp/permission/request", "mgp/permission/await"})
"""What a server asks the gateway itself."""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("answered")
    more = content(folder, ("own", "2025-11-25"))
    more |= {"profiles": {"small": {"servers": ["own"]}}, "mcp": unlimited()}
    with running(folder, more) as found:
        yield found


async def flushed(client: Answered) -> None:
    """All that was said before has been dealt with."""
    assert await client.becomes({"id": "flush", "method": "tools/list", "params": {}}) == "answered"


def said_by(case: Case, whose: dict[str, Any]) -> dict[str, Any]:
    """The message of one case."""
    method = case.row.method
    if case.form == "response":
        return {"id": whose["requestId"], "result": {"content": [], "x": FORGED}}
    ident = {} if case.form == "notification" else {"id": case.tag}
    return {**ident, "method": method, "params": params_of(case, whose)}


def reached(said: list[dict[str, Any]]) -> set[str]:
    """What a server got of the cases, and what else it had no reason to get."""
    found = set()
    for one in said:
        params = one.get("params") or {}
        case = (params.get("_meta") or {}).get("case")
        assert FORGED not in json.dumps(one), one
        if case is not None:
            found.add(case)
        elif one.get("method") not in OWN_ACCOUNT and params.get("name") not in TOOLS:
            found.add(str(one.get("method")))
    return found


@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", list(ANSWERED))
async def test_what_callers_say_there_is_answered_where_the_page_says_so(
    gateway: Gateway, way: str
) -> None:
    ann, bob = keys(gateway.folder, "ann", "bob")
    takes = TAKES[ANSWERED[way]]
    async with (
        host(gateway, "http 2025-11-25", can=CAN, headers=bob) as theirs,
        answered(gateway, way, ann["authorization"].removeprefix("Bearer ")) as mine,
    ):
        you = Visitor(theirs, "bob")
        await you.begin(5000, 2)
        before = len(logged(gateway, "own"))
        for ident, whose in (
            ("foreign", you.names()),
            ("forged", MADE_UP),
            ("own", {**MADE_UP, "requestId": 1}),
        ):
            for case in cases("request", ident):
                method = case.row.method
                expected = "answered" if method in takes else "refused"
                assert await mine.becomes(said_by(case, whose)) == expected, case.tag
            for form in ("notification", "response"):
                for case in cases(form, ident):
                    replies = await mine.send(said_by(case, whose))
                    assert all("error" in one for one in replies), (case.tag, replies)
            for question in ("gw-1", you.question):
                for answer in (
                    {"result": {"x": FORGED}},
                    {"error": {"code": 1, "message": FORGED}},
                ):
                    replies = await mine.send({"id": question, **answer})
                    assert all("error" in one for one in replies), replies
        await flushed(mine)
        assert [one for one in mine.frames if "method" in one] == []
        found = reached(logged(gateway, "own")[before:])
    allowed = {
        one.tag for ident in IDS for one in cases("request", ident) if one.row.method in takes
    }
    assert found <= allowed, found - allowed


@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", list(ANSWERED))
async def test_what_servers_say_meanwhile_is_heard_by_nobody_there(
    gateway: Gateway, way: str
) -> None:
    ann, bob = keys(gateway.folder, "ann", "bob")
    before = len(logged(gateway, "own"))
    async with (
        host(gateway, "http 2025-11-25", can=CAN, headers=bob) as theirs,
        answered(gateway, way, ann["authorization"].removeprefix("Bearer ")) as mine,
    ):
        for form in ("notification", "request", "response"):
            for ident in IDS:
                await say(mine, [frame(one, "T-1") for one in cases(form, ident)])
        await flushed(mine)
        await theirs.tools()
        heard = json.dumps(mine.frames) + b"".join(theirs.frames).decode()
    assert " as a " not in heard
    assert [one for one in mine.frames if "method" in one] == []
    replies = {
        str(one["id"]): one
        for one in logged(gateway, "own")[before:]
        if "method" not in one and " as a request " in str(one.get("id"))
    }
    asked = [one for ident in IDS for one in cases("request", ident)]
    assert set(replies) == {one.tag for one in asked}
    for case in asked:
        assert case.row.method in OWN_ANSWERED or "error" in replies[case.tag], case.tag


async def say(client: Answered, said: list[dict[str, Any]]) -> None:
    """Have the server say all that before it answers."""
    call: dict[str, Any] = {"name": "own__say", "arguments": {"said": said}}
    method = "tools/call"
    if client.door == "groundhog":
        call, method = {"tool_id": "own__say", "parameters": {"said": said}}, "tools/invoke"
    (reply,) = await client.send({"id": "say", "method": method, "params": call})
    assert "said" in str(reply.get("result")), reply


# -- that nothing is left out


def test_every_message_of_the_code_has_a_row_and_is_said_in_every_form_by_both_sides() -> None:
    from gatewright.mcp.wire.methods import WORDS  # noqa: PLC0415 - what the page is held against

    assert [one.method for one in PAGE] == [one.method for one in WORDS]
    for form in ("request", "notification", "response"):
        for ident in IDS:
            assert [one.row.method for one in cases(form, ident)] == [one.method for one in WORDS]


def test_every_door_is_in_the_matrix() -> None:
    hosts = {one.split()[0] for one in EVERY_DOOR}
    elsewhere = {"room"}  # envelopes: test_rooms_envelope, test_rooms_hostile
    assert hosts | set(ANSWERED.values()) | elsewhere == {one.name for one in DOORS}
    assert {one.name for one in DOORS if one.dialect == "MCP"} == hosts
    assert all(TAKES[one] for one in ANSWERED.values())


def test_every_door_of_the_code_is_in_its_table() -> None:
    """Whatever makes calls says at which door, by the keyword `door` or a constant of that name."""
    found = {
        name
        for path in sorted((ROOT / "src" / "gatewright").rglob("*.py"))
        for name in doors_in(path.read_text())
    }
    # A name of a record's member is none; at the console people call, and no client does.
    assert found - {"memory", "sdk", "door", "console", ""} == {
        one.name for one in DOORS
    }  # a server made with the SDK has no doors


def test_every_address_is_a_door_or_says_nothing() -> None:
    places = " ".join(one.place for one in DOORS)
    more = {"rpc": "http://h/rpc", "rest": "http://h/tools", "rooms": "ws://h/ws"}
    named = urls_of("http://h", [], [lambda _: more])
    for name in named:
        path = named[name].removeprefix("http://h").removeprefix("ws://h")
        assert f"`{path}`" in places, name


def doors_in(source: str) -> set[str]:
    """The names of doors that a module makes calls at."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if (isinstance(node, ast.keyword) and node.arg == "door") or (
            isinstance(node, ast.Assign)
            and any(
                isinstance(one, ast.Name) and one.id in {"DOOR", "_DOOR"} for one in node.targets
            )
        ):
            found |= {str(one.value) for one in ast.walk(node.value) if _is_text(one)}
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "OneShotCalls"
        ):
            found |= {str(one.value) for one in node.args if _is_text(one)}
    return found


def _is_text(node: ast.AST) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)

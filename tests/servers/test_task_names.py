"""What callers name as a task reaches its server by the server's name, or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Kind, Target
from gatewright.mcp.protocol.task_ids import RELATED
from gatewright.mcp.wire.methods import WORDS
from gatewright.servers.origin import origin_of
from gatewright.servers.request_state import bound
from gatewright.servers.spec import Auth, ServerSpec
from gatewright.servers.task_names import connection_name, parts_of
from tests.behaviour.task_places import (
    ANN,
    BOB,
    ERAS,
    Era,
    House,
    speaker,
    to,
)
from tests.servers.rig import running


@pytest.fixture(params=ERAS)
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[House]:
    era: Era = request.param
    async with running(speaker(tmp_path, "one", era), speaker(tmp_path, "two", era)) as supervisor:
        yield House(supervisor, era)


def _related(value: Any) -> list[Any]:
    """Every task that stands anywhere in a message as one that it belongs to."""
    if isinstance(value, list):
        return [found for one in value for found in _related(one)]
    if not isinstance(value, dict):
        return []
    here = [value[RELATED]] if RELATED in value else []
    return here + [found for one in value.values() for found in _related(one)]


def _calls(house: House, related: Any) -> list[Any]:
    """Every message of a client that is led to a server, and belongs to a task by its own word."""
    meta = {"_meta": {RELATED: related}}
    given: dict[str, dict[str, Any]] = {
        "completion/complete": {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {}},
        "resources/subscribe": {"uri": "memo:///r"},
        "resources/unsubscribe": {"uri": "memo:///r"},
        "logging/setLevel": {"level": "debug"},
    }
    words = [one for one in WORDS if "client" in one.by and not one.extension]
    methods = [one.method for one in words if house.client.revision in one.revisions]
    calls = []
    for method in methods:
        if method.startswith("tasks/") or method.endswith("/list") or method in _BY_KIND:
            continue
        calls.append(house.method(ANN, method, {**given.get(method, {}), **meta}))
    for method in ("notifications/acme.said", "acme/ask"):
        call = house.method(ANN, method, dict(meta))
        calls.append(to(call, Target("one", method)))
    state = bound(f"one@{origin_of(house.supervisor.fleet.specs['one'])}", "s")
    answers = {"inputResponses": {"q": {"action": "accept", **meta}}, "requestState": state}
    uses: tuple[tuple[Kind, str, str, str], ...] = (
        ("prompt", "prompts/get", "name", "p"),
        ("resource", "resources/read", "uri", "memo:///r"),
        ("tool", "tools/call", "name", "work"),
    )
    for kind, method, member, name in uses:
        call = house.method(ANN, method, {member: name, **meta, **answers})
        calls.append(to(call, Target("one", name), kind))
    return calls


_BY_KIND = frozenset({"tools/call", "prompts/get", "resources/read"})


async def test_what_a_caller_names_reaches_a_server_as_its_own_task_there_or_not_at_all(
    house: House,
) -> None:
    hers, his = await house.make(ANN), await house.make(BOB)
    elsewhere = await house.make(ANN, "two")
    wrong, passed = [], 0
    given = {hers: ["T-1"], his: [], elsewhere: [], "T-1": [], "T-2": [], "T-9": [], 7: [], "": []}
    for name, mine in given.items():
        for related in ({"taskId": name}, name, {"taskId": [name]}):
            for call in _calls(house, related):
                await house.put(call)
                seen = [found for one in await house.seen() for found in _related(one)]
                allowed = [{"taskId": one} for one in mine] if related == {"taskId": name} else []
                if any(found not in allowed for found in seen):
                    wrong.append((call.method, related, seen))
                passed += len(seen)
    assert wrong == []
    assert passed > 5


def test_over_http_a_connection_is_named_by_what_stands_behind_its_server() -> None:
    """A row of an earlier gateway, without it, is of no connection that there is."""
    first = ServerSpec(id="x", transport="http", url="https://a.test/mcp")
    others = [
        ServerSpec(id="x", transport="http", url="https://b.test/mcp"),
        ServerSpec(id="x", transport="http", url=first.url, headers={"X-Account": "b"}),
        ServerSpec(id="x", transport="http", url=first.url, auth=Auth(bearer="b")),
    ]
    for own in (None, "s1"):
        names = {connection_name(one, own, None, "p") for one in (first, *others)}
        assert len(names | {own or ""}) == 5
        assert {parts_of(one) for one in names} == {(own, False)}
        assert parts_of(connection_name(ServerSpec(id="x"), own, None, "p")) == (own, True)

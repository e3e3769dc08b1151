"""Every handle that the gateway gives out is good for its caller, in its profile, at its door, and is unknown everywhere else."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import aiohttp
import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.test_approvals import queue_of
from tests.behaviour.test_task_handles import keys

VERBS = ("get", "result", "cancel", "update")
CAN: dict[str, Any] = {"elicitation": {"form": {}}}
STATE = "requestState"


class Place(NamedTuple):
    """Who comes with a handle, and to where."""

    caller: int = 0
    profile: str = "a"
    wire: str = "http"


HOME = Place()
ELSEWHERE = [
    Place(caller=1),
    Place(profile="b"),
    Place(profile=""),
    Place(wire="websocket"),
    Place(caller=1, profile="b"),
    Place(profile="b", wire="websocket"),
]


class Site(NamedTuple):
    gateway: Gateway
    keys: list[dict[str, str]]

    def host(self, place: Place, revision: str = "2025-11-25", can: Any = None) -> Any:
        return host(
            self.gateway,
            f"{place.wire} {revision}",
            headers=self.keys[place.caller],
            profile=place.profile,
            can=can,
        )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Both profiles have the same servers, so that nothing but the handle tells them apart."""
    servers = (
        server("worker"),
        server("modern_asker"),
        server("asker"),
        server("echo", tools={"echo": {"risk_level": "dangerous"}}),
    )
    content = config(
        *servers,
        gateway={"anonymous": "deny"},
        profiles={name: {"servers": [one["id"] for one in servers]} for name in ("a", "b")},
        approvals={"approver": "operator", "hold_s": 0},
    )
    with running(tmp_path_factory.mktemp("bound"), content) as gateway:
        yield Site(gateway, keys(gateway.folder, "ann", "bob"))


async def refused(client: Host, method: str, params: dict[str, Any]) -> tuple[int, str]:
    with pytest.raises(RpcError) as caught:
        await client.request(method, params)
    return caught.value.code, caught.value.message


# -- sessions of HTTP, their streams, and what runs in them


async def sent(site: Site, place: Place, method: str, session: str, **more: str) -> tuple[int, str]:
    """Status and text of a request in a session; the id of the session is left out of the text."""
    name = f"mcp/{place.profile}" if place.profile else "mcp"
    headers = {
        **site.keys[place.caller],
        "accept": "application/json, text/event-stream"
        if method == "POST"
        else "text/event-stream",
        "content-type": "application/json",
        "mcp-session-id": session,
        "mcp-protocol-version": "2025-11-25",
        **more,
    }
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}' if method == "POST" else None
    async with (
        aiohttp.ClientSession() as http,
        http.request(method, site.gateway.urls[name], headers=headers, data=body) as answer,
    ):
        if answer.status == 200 and method == "GET":
            return 200, ""
        return answer.status, (await answer.text()).replace(session, "SESSION")


@pytest.mark.parametrize("place", [one for one in ELSEWHERE if one.wire == "http"])
async def test_a_session_and_its_streams_are_unknown_elsewhere(site: Site, place: Place) -> None:
    async with site.host(HOME) as ann:
        ours, none = str(ann.session), uuid.uuid4().hex * 2
        for method in ("POST", "GET", "DELETE"):
            for more in ({}, {"last-event-id": "0-0"}, {"last-event-id": "1-1"}):
                found = await sent(site, place, method, ours, **more)
                assert found == await sent(site, place, method, none, **more)
                assert found[0] == 404
        assert (await sent(site, HOME, "POST", ours))[0] == 200
        assert (await sent(site, HOME, "GET", ours))[0] == 200
        assert "worker__work" in await ann.tools()


@pytest.mark.parametrize("place", ELSEWHERE)
async def test_a_running_call_is_not_cancelled_from_elsewhere(site: Site, place: Place) -> None:
    async with site.host(HOME) as ann, site.host(place) as other:
        running_ = await ann.start(
            "tools/call", {"name": "asker__slow", "arguments": {"seconds": 0.4}}
        )
        for ident in (running_, str(running_)):
            await other.say({"method": "notifications/cancelled", "params": {"requestId": ident}})
        assert (await ann.finish(running_))["content"]


# -- tasks


@pytest.mark.parametrize("place", ELSEWHERE)
async def test_a_task_of_a_server_is_unknown_elsewhere(site: Site, place: Place) -> None:
    async with site.host(HOME) as ann, site.host(place) as other:
        asked = {"name": "worker__work", "arguments": {}, "task": {"ttl": 600_000}}
        task = (await ann.request("tools/call", asked))["task"]["taskId"]
        for verb in VERBS:
            foreign = await refused(other, f"tasks/{verb}", {"taskId": task})
            none = await refused(other, f"tasks/{verb}", {"taskId": "task_" + "0" * 32})
            assert foreign == none
        theirs = (await other.request("tasks/list"))["tasks"]
        assert task not in [one["taskId"] for one in theirs]
        found = await ann.request("tasks/get", {"taskId": task})
        assert found["taskId"] == task
        assert task in [one["taskId"] for one in (await ann.request("tasks/list"))["tasks"]]
        assert not [one for one in other.frames if task.encode() in one]


@pytest.mark.parametrize("place", ELSEWHERE)
async def test_a_task_of_the_gateway_is_unknown_elsewhere(site: Site, place: Place) -> None:
    asked = {
        "name": "echo__echo",
        "arguments": {"message": str(place)},
        "task": {"ttl": 600_000},
    }
    async with site.host(HOME) as ann, site.host(place) as other:
        task = (await ann.request("tools/call", asked))["task"]["taskId"]
        for verb in VERBS:
            foreign = await refused(other, f"tasks/{verb}", {"taskId": task})
            none = await refused(other, f"tasks/{verb}", {"taskId": task[:-4] + "0000"})
            assert foreign == none
        assert (await ann.request("tasks/get", {"taskId": task}))["status"] == "working"
        await ann.request("tasks/cancel", {"taskId": task})


# -- calls that wait


@pytest.mark.parametrize("place", ELSEWHERE)
@pytest.mark.parametrize("tool", ["modern_asker__ask_elicitation", "asker__ask_elicitation"])
async def test_a_parked_call_goes_on_where_it_was_made_alone(
    site: Site, place: Place, tool: str
) -> None:
    modern = "2026-07-28"
    async with site.host(HOME, modern, CAN) as ann, site.host(place, modern, CAN) as other:
        asked = {"name": tool, "arguments": {}}
        interim = await ann.request("tools/call", asked)
        answers = {
            name: {"action": "accept", "content": {"name": "ann"}}
            for name in interim["inputRequests"]
        }
        again = {**asked, STATE: interim[STATE], "inputResponses": answers}
        foreign = await refused(other, "tools/call", again)
        assert foreign == await refused(other, "tools/call", {**again, STATE: "x" * 80})
        assert foreign[0] == -32602
        assert "ann" in json.dumps(await ann.request("tools/call", again))


@pytest.mark.parametrize("place", [one for one in ELSEWHERE if one.wire == "http"])
async def test_an_approved_call_goes_on_where_it_was_made_alone(site: Site, place: Place) -> None:
    asked = {"name": "echo__echo", "arguments": {"message": f"approved for {place}"}}
    async with site.host(HOME) as ann, site.host(place) as other:
        waits = await ann.request("tools/call", asked)
        assert waits["isError"], waits
        with queue_of(site.gateway, ann) as queue:
            (one,) = [
                found for found in queue.waiting() if f"approved for {place}" in found.arguments
            ]
            queue.approve(one.id, by="olga")
        elsewhere = await other.request("tools/call", asked)
        assert elsewhere["isError"], elsewhere
        assert one.id not in json.dumps(elsewhere)
        done = await ann.request("tools/call", asked)
        assert done["content"][0]["text"] == f"approved for {place}"

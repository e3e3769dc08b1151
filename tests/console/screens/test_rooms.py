"""The rooms screen without a browser: a person sits down, speaks, decides, stops an agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import pytest_asyncio
from msgspec.structs import replace

from gatewright.mcpx.envelope import Envelope
from gatewright.rooms.hub import Hub, NoPlace
from gatewright.rooms.in_process import FULL, Inside
from gatewright.rooms.participants.tool_responder import Tools
from gatewright.rooms.policy import Identity
from tests.console.in_process import Client, Within, within
from tests.console.running import DEMO

ROOMS = """
[rooms]
default_profile = "full"
[rooms.kernel]
topics = ["deploys"]
[rooms.orchestrator]
topics = ["deploys"]
people = ["operator"]
"""


@pytest_asyncio.fixture
async def console(tmp_path: Path) -> AsyncIterator[Within]:
    """With a room in which the gateway's own participants sit."""
    async with within(tmp_path, ROOMS + DEMO) as found:
        yield found


def _bot(console: Within, name: str = "bot") -> Inside:
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    seat = Inside(hub, topic="deploys", name=name, responder=Tools(name))
    seat.sit()
    return seat


async def _talk(client: Client, holds: Callable[[Any], bool]) -> Any:
    async with asyncio.timeout(20):
        while True:
            found = (await client.api("GET", "/rooms/talk?topic=deploys")).json()
            if holds(found):
                return found
            await asyncio.sleep(0.02)


async def test_a_person_sits_down_hears_and_speaks(console: Within) -> None:
    operator, viewer = await console.person("operator"), await console.person("viewer")
    rooms = (await viewer.api("GET", "/rooms")).json()["rooms"]
    assert [(one["topic"], one["here"], len(one["participants"])) for one in rooms] == [
        ("deploys", 2, 2)
    ]
    assert (await viewer.api("GET", "/rooms?find=nothing")).json()["total"] == 0
    assert "No room fits" in (await viewer.get("/rooms?access=private")).text
    before = await _talk(operator, lambda _: True)
    assert (before["joined"], before["messages"]) == (False, [])
    assert (await operator.form("/rooms/join", {"topic": "deploys"})).status == 303
    assert (await viewer.api("POST", "/rooms/join", {"topic": "deploys"})).json()["joined"]
    bot = _bot(console)
    await bot.participant.welcomed()
    bot.participant.chat("<b>hello</b>\u202e")
    for client in (operator, viewer):
        talk = await _talk(client, lambda one: any(m["sender"] == "bot" for m in one["messages"]))
        assert [m["text"] for m in talk["messages"] if m["what"] == "chat"] == [
            "<b>hello</b>\u202e"
        ]
    page = (await operator.get("/rooms?topic=deploys")).text
    assert "&lt;b&gt;hello" in page
    assert "U+202E" in page
    heard: list[str] = []
    bot.participant.watchers.append(lambda one: heard.append(one.envelope.sender))
    assert (await operator.form("/rooms/post", {"topic": "deploys", "text": "hi"})).status == 303
    assert (await viewer.form("/rooms/post", {"topic": "deploys", "text": "hi"})).status == 403
    async with asyncio.timeout(20):
        while "operator" not in heard:
            await asyncio.sleep(0.02)
    assert (await operator.form("/rooms/leave", {"topic": "deploys"})).status == 303
    assert not (await _talk(operator, lambda _: True))["joined"]
    late = await operator.api("POST", "/rooms/messages", {"topic": "deploys", "text": "x"})
    assert (late.status, late.json()["code"]) == (409, "not_there")


async def test_proposals_are_decided_with_names(console: Within) -> None:
    operator = await console.person("operator")
    await operator.api("POST", "/rooms/join", {"topic": "deploys"})
    bot = _bot(console)
    await bot.participant.welcomed()
    params = {"name": "demo__now", "arguments": {}}
    first = bot.participant.propose("tools/call", params, to=["gatewright"])
    second = bot.participant.propose(
        "tools/call", {**params, "name": "demo__echo"}, to=["gatewright"]
    )

    def both(one: Any) -> bool:
        return len([p for p in one["proposals"] if p["verdicts"]]) == 2

    talk = await _talk(operator, both)
    assert {one["status"] for one in talk["proposals"]} == {"pending"}
    assert "dry run of tools/call" in talk["proposals"][0]["verdicts"][0]
    said = {"topic": "deploys", "proposal": second.id, "do": "reject"}
    assert (await operator.api("POST", "/rooms/proposals", said)).status == 422
    said["reason"] = "not now"
    assert (await operator.api("POST", "/rooms/proposals", said)).status == 200
    digest = next(one["digest"] for one in talk["proposals"] if one["id"] == first.id)
    said = {"topic": "deploys", "proposal": first.id, "do": "approve", "digest": digest}
    approved = await operator.api("POST", "/rooms/proposals", said)
    assert approved.status == 200, approved.text

    def done(one: Any) -> bool:
        return {p["status"] for p in one["proposals"]} == {"fulfilled", "rejected"}

    talk = await _talk(operator, done)
    by = {one["id"]: (one["status"], one["decided_by"]) for one in talk["proposals"]}
    assert by[second.id] == ("rejected", "operator")
    assert by[first.id][0] == "fulfilled"
    page = (await operator.get("/rooms?topic=deploys")).text
    assert "not now" in page


def _sit(hub: Hub, name: str, responder: Any) -> Inside:
    identity = Identity(name, FULL, named=True)
    seat = Inside(hub, topic="release", name=name, responder=responder, identity=identity)
    seat.sit()
    return seat


async def test_nobody_is_called_as_the_gateways_own_where_they_do_not_sit(console: Within) -> None:
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    for name in ("orchestrator", "gatewright", "0rchestrator", "Gatewright"):
        with pytest.raises(NoPlace, match="the gateway itself is called so"):
            _sit(hub, name, Tools(name))


async def test_who_is_called_as_the_orchestrator_elsewhere_is_asked_nothing(
    console: Within,
) -> None:
    operator, hub = await console.person("operator"), console.parts.ground.of(Hub)
    assert hub is not None
    asked: list[bytes] = []

    async def hear(frame: bytes, envelope: Envelope) -> bytes | None:
        asked.append(frame)
        return None

    hub.policy = replace(hub.policy, reserved=())  # as one who came in all the same
    _sit(hub, "orchestrator", hear)
    worker = Tools("worker")
    worker.offer("dig", "Dig.", {}, _dig)
    _sit(hub, "worker", worker)
    bot = _sit(hub, "bot", Tools("bot"))
    await operator.api("POST", "/rooms/join", {"topic": "release"})
    await bot.participant.welcomed()
    params = {"name": "dig", "arguments": {}}
    pending = bot.participant.propose("tools/call", params, to=["worker"])
    async with asyncio.timeout(20):
        while True:
            talk = (await operator.api("GET", "/rooms/talk?topic=release")).json()
            if talk["proposals"]:
                break
            await asyncio.sleep(0.02)
    said = {"topic": "release", "proposal": pending.id, "do": "approve"}
    said["digest"] = talk["proposals"][0]["digest"]
    approved = await operator.api("POST", "/rooms/proposals", said)
    assert approved.status == 200, approved.text
    assert (await pending.outcome(timeout_s=20))["structuredContent"] == {"by": "operator"}
    assert asked == []


async def _dig(sender: str) -> Any:
    return {"by": sender}


async def test_an_agent_is_stopped_everywhere_with_a_reason(console: Within) -> None:
    operator = await console.person("operator")
    callers = console.gateway.callers
    _, key = callers.create("rogue", by="test")
    _bot(console, "rogue")
    refused = await operator.api("POST", "/rooms/stop", {"agent": "rogue", "reason": " "})
    assert refused.status == 422
    found = (
        await operator.api("POST", "/rooms/stop", {"agent": "rogue", "reason": "it lies"})
    ).json()
    assert found == {"agent": "rogue", "keys": 1, "places": 1}
    assert callers.verify(key) == "revoked"
    talk = await _talk(operator, lambda _: True)
    assert "rogue" not in talk["participants"]


async def test_without_rooms_it_says_how_to_have_some(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        operator = await console.person("operator")
        assert "No rooms" in (await operator.get("/rooms")).text
        assert (await operator.api("GET", "/rooms/talk?topic=x")).status == 404


async def test_every_proposal_is_on_a_page_and_a_decision_comes_back_to_it(console: Within) -> None:
    operator = await console.person("operator")
    await operator.api("POST", "/rooms/join", {"topic": "deploys"})
    bot = _bot(console)
    await bot.participant.welcomed()
    for number in range(250):
        params = {"name": f"dig{number}", "arguments": {}}
        bot.participant.propose("tools/call", params, to=["operator"])
        await asyncio.sleep(0)
    await _talk(
        operator, lambda one: one["proposals"] and "dig249" in one["proposals"][0]["params"]
    )
    seen, after, sizes = list[str](), "", list[int]()
    while True:
        query = urlencode({"topic": "deploys", "after": after})
        found = (await operator.api("GET", f"/rooms/talk?{query}")).json()
        seen += [one["id"] for one in found["proposals"]]
        sizes.append(len(found["proposals"]))
        if not found["next"]:
            break
        after = found["next"]
    assert (sizes, len(set(seen))) == ([100, 100, 50], 250)
    page = (await operator.get(f"/rooms?{query}")).text
    assert ("Newest proposals" in page, "Older proposals" in page) == (True, False)
    form = {"topic": "deploys", "proposal": seen[-1], "do": "reject", "reason": "no"}
    done = await operator.form("/rooms/decide", {**form, "place": f"?{query}"})
    assert (done.status, done.headers["location"]) == (303, f"/rooms?{query}")
    assert "Older proposals" in (await operator.get("/rooms?topic=deploys")).text

"""What is fetched on a connection for a party that has no call there: what the server says and asks meanwhile is nobody else's."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import ANONYMOUS
from gatewright.mcp.client.link import Link, ServerFailed
from tests.servers.rig import FakeBack, make_call, within
from tests.servers.scripted import Ear, Scripted, linked, start

OWN = ANONYMOUS.party("s1")
NOTE = "notifications/message"
FORM = {"message": "?", "requestedSchema": {"type": "object", "properties": {}}}


async def fetched(link: Link, server: Scripted, whose: str = "") -> None:
    """Something was fetched, and answered."""
    fetching = asyncio.ensure_future(link.fetch("x", {}, 5.0, whose))
    sent: dict[str, Any] = await server.next()
    while sent["method"] != "x":
        sent = await server.next()
    server.say(id=sent["id"], result={})
    await within(fetching)


@pytest.mark.parametrize(("whose", "told"), [(OWN, ["x:1", "own"]), ("s2", ["own"])])
async def test_what_is_said_while_something_is_fetched_for_a_party_is_no_other_partys(
    whose: str, told: list[str]
) -> None:
    """A server that is connected anew is asked for the resources of everybody, and may say which in its log."""
    ear = Ear()
    async with linked(ear=ear) as (link, server):
        back = FakeBack()
        work = start(link, back)
        request = await server.next()
        fetching = asyncio.ensure_future(link.fetch("resources/subscribe", {}, 5.0, whose))
        asked = await server.next()
        server.say(method=NOTE, params={"level": "info", "data": "x:1"})
        server.say(id=asked["id"], result={})
        await within(fetching)
        server.say(method=NOTE, params={"level": "info", "data": "own"})
        server.say(id=request["id"], result={})
        await within(work)
    assert [one["data"] for one in back.of(NOTE)] == told
    assert ear.heard == []


async def test_a_question_while_something_is_fetched_for_another_waits_for_the_answer_to_that() -> (
    None
):
    async with linked() as (link, server):
        back = FakeBack(elicitation={"action": "decline"})
        start(link, back)
        await server.next()
        fetching = asyncio.ensure_future(link.fetch("resources/subscribe", {}, 5.0, "s2"))
        asked = await server.next()
        server.say(id="q", method="elicitation/create", params=FORM)
        server.say(id=1, method="ping")
        assert (await server.next())["id"] == 1
        assert back.questions == []
        server.say(id=asked["id"], result={})
        await within(fetching)
        assert (await server.next())["id"] == "q"


async def test_a_log_line_of_what_was_fetched_for_a_party_is_not_everybodys() -> None:
    ear = Ear()
    async with linked(ear=ear) as (link, server):
        for whose, sole in (("", ""), ("s1", "s1"), ("s1", "s1"), ("s2", None)):
            await fetched(link, server, whose)
            assert link.sole == sole
        assert not link.haunted
        server.say(method=NOTE, params={"level": "info", "data": "x:1"})
        await fetched(link, server)
    assert ear.heard == []


async def test_for_whom_something_was_fetched_in_vain_may_be_meant_until_the_server_answers() -> (
    None
):
    async with linked() as (link, server):
        with pytest.raises(ServerFailed):
            await within(link.fetch("late", {}, 0.01, "s2"))
        asked = await server.next()
        assert link.haunted
        server.say(id=asked["id"], result={})
        await fetched(link, server)
        assert not link.haunted


async def test_who_told_the_server_something_was_served_there() -> None:
    """What it says later of that is not everybody's, and it may ask for the sake of that as long as the connection lasts."""
    async with linked() as (link, _):
        assert not link.haunted
        for session, sole in (("s1", OWN), ("s1", OWN), ("s2", None)):
            call = make_call("method", "notifications/acme.said", {}, session=session)
            link.tell(call.method, {}, call)
            assert link.sole == sole
            assert link.haunted

"""What a session or a handle keeps is not handed out past a grant that was taken back: streams, parked calls, a session's own stream."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Client
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.kept_answers import About, of_call, of_request, of_server
from gatewright.mcp.wire.versions import METHODS
from tests.dialects.house import House, text
from tests.dialects.steps import TOLD, Stepwise, progress
from tests.gate_parts import a_call
from tests.mcp.server.test_pending_input import NAME, first, one_by_one, retry
from tests.mcp.server.test_pending_input_kept import left_alone


@pytest.mark.parametrize("about", ["echo", "srv", "other"])
async def test_a_finished_stream_is_not_replayed_to_who_may_not_see_its_tool_any_more(
    about: str,
) -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        broken = session.open("tools/call", TOLD, ident=8)
        tool.say(progress(1))
        primer = await broken.event()
        await broken.event()
        broken.leave()
        tool.say(text("secret"))
        while not house.trails.ended:
            await asyncio.sleep(0.001)
        house.upstream.taken_back.add(about)
        found = await session.get(primer.id).whole()
        assert (found.status, b"secret" in found.body) == (
            (400, False) if about == "echo" else (200, True)
        )


async def test_a_parked_call_that_ended_is_not_answered_past_its_grant() -> None:
    async with House() as house:
        house.upstream.taken_back.add("echo")
        (found,) = await left_alone(house, [text("secret")])
        assert found["error"]["message"] == "requestState names a call that has ended"
        house.upstream.taken_back.clear()
        (found,) = await left_alone(house, [text("secret")])
        assert found["result"]["content"][0]["text"] == "secret"


async def test_a_parked_call_that_runs_is_the_kernels_to_end() -> None:
    async with House() as house:
        house.script.does("echo", one_by_one(NAME))
        state = (await first(house))["requestState"]
        house.upstream.taken_back.add("echo")
        found = (await house.post(retry(state, {"q1": {}}))).json
        assert found["result"]["learned"] == [{}]


async def test_the_own_stream_of_a_session_tells_nothing_of_a_server_that_is_seen_no_more() -> None:
    async with House() as house:
        session = await house.session()
        house.upstream.tell("notifications/tools/list_changed")
        house.upstream.taken_back.add("srv")
        wire = session.get()
        await wire.head()
        house.upstream.tell("notifications/prompts/list_changed")
        assert b"prompts" in (await wire.event()).data
        wire.leave()


def test_what_is_kept_is_about_what_was_asked_for() -> None:
    client = Client("2025-11-25")

    def of(method: str, **params: object) -> About:
        return of_request(Inbound(b"1", method, params, client, METHODS[method]))

    assert of("tools/call", name="echo") == About("tool", "echo")
    through = of("tools/call", name="mgp_tools_call", arguments={"name": "echo"})
    assert through == About("tool", "mgp_tools_call", "echo")
    assert of("tools/call", name="echo", arguments={"name": 1}) == About("tool", "echo")
    assert of("resources/read", uri="x:1") == About("resource", "x:1")
    assert of("tools/list") == About("list", "")
    assert of_server("srv") == About("server", "srv")
    assert of_call(a_call(name="echo")).kind == "tool"

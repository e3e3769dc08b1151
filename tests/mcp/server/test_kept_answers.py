"""What a session or a handle keeps is not handed out past a grant that was taken back: streams, parked calls, a session's own stream."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import Back, Call, Client, Outcome
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.kept_answers import About, of_call, of_request, of_server
from gatewright.mcp.wire.headers_and_meta import META_SERVER
from gatewright.mcp.wire.methods import EVENT
from gatewright.mcp.wire.versions import METHODS, Method
from tests.dialects.client import rpc
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


async def test_a_call_that_runs_is_the_kernels_to_end_also_on_a_stream_that_is_resumed() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        broken = session.open("tools/call", TOLD, ident=8)
        tool.say(progress(1))
        primer = await broken.event()
        await broken.event()
        broken.leave()
        house.upstream.taken_back.add("echo")
        again = session.get(primer.id)
        assert (await again.head())[0] == 200
        tool.say(text("secret"))
        assert b"secret" in (await again.whole()).body


async def test_the_result_of_a_task_is_not_replayed_past_the_grant_of_its_tool() -> None:
    async with House() as house:
        house.script.does("tasks/result", task := Stepwise())
        session = await house.session()
        params = {"taskId": "task_1", "_meta": {"progressToken": 1}}
        broken = session.open("tasks/result", params, ident=8)
        task.say(progress(1))
        primer = await broken.event()
        await broken.event()
        broken.leave()
        task.say(text("secret"))
        while not house.trails.ended:
            await asyncio.sleep(0.001)
        house.upstream.taken_back.add("task_1")
        found = await session.get(primer.id).whole()
        assert (found.status, b"secret" in found.body) == (400, False)


async def test_what_a_batched_call_said_is_kept_as_what_its_tool_said() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        house.script.does("other", tool)
        session = await house.session("2025-03-26")
        for ident, name in enumerate(("echo", "other")):
            params = {**TOLD, "name": name, "_meta": {"progressToken": name}}
            await session.send(b"[" + rpc("tools/call", params, ident) + b"]")
        house.upstream.taken_back.add("echo")
        wire = session.get()
        assert b'"other"' in (await wire.event()).data
        wire.leave()


async def test_an_event_of_a_server_that_is_seen_no_more_is_not_kept_for_its_subscriber() -> None:
    """`events.subscriptions` tells it as the gateway's own, with the server in its params."""
    async with House() as house:
        mgp = {"version": "0.6.0", "extensions": ["bidirectional"]}
        session = await house.session(capabilities={"mgp": mgp})
        for _, _, take in list(house.upstream.watching.values()):
            take("", EVENT, {"server_id": "srv", "data": "secret"})
            take("", EVENT, {"data": "ours"})
        house.upstream.taken_back.add("srv")
        wire = session.get()
        await wire.head()
        assert b"ours" in (await wire.event()).data
        wire.leave()


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
        return of_request(
            Inbound(b"1", method, params, client, METHODS.get(method, Method("method")))
        )

    assert of("tools/call", name="echo") == About("tool", "echo")
    through = of("tools/call", name="mgp_tools_call", arguments={"name": "echo"})
    assert through == About("tool", "mgp_tools_call", "echo")
    assert of("tools/call", name="echo", arguments={"name": 1}) == About("tool", "echo")
    assert of("resources/read", uri="x:1") == About("resource", "x:1")
    assert of("tools/list") == About("list", "")
    assert of("resources/subscribe", uri="x:1").kind == "method"
    assert of("completion/complete", ref={"type": "ref/prompt", "name": "p"}) == About(
        "prompt", "p"
    )
    assert of("completion/complete", ref={"type": "ref/resource", "uri": "x:{id}"}) == About(
        "template", "x:{id}"
    )
    assert of("completion/complete", ref=[]).kind == "method"
    assert of("tasks/result", taskId="task_1") == About("task", "task_1")
    assert of("tasks/get", taskId=1) == About("task", "")
    assert of("tasks/list") == About("method", "tasks/list")
    assert of("x/y", _meta={META_SERVER: "b"}) == About("method", "x/y", "b")
    assert of_server("srv") == About("server", "srv")
    assert of_server("", {"server_id": "srv", "channel": "model.x"}) == About("server", "srv")
    assert of_server("", {}) == About("server", "")
    assert of_call(a_call(name="echo")).kind == "tool"

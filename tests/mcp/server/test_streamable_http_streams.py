"""Plain and streamed answers, and streams that are taken up again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.call import RECONNECT, Answer, Event
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import MODERN, Wire, modern, rpc, within
from tests.dialects.house import House, text
from tests.dialects.steps import CALL, JSON_ONLY, TOLD, Hang, Stepwise, progress, progressed

# -- plain and streamed


async def test_an_answer_is_plain_json_while_nothing_goes_before_it() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session()
        answered = await session.open("tools/call", TOLD).whole()
        assert (answered.status, answered.kind) == (200, "application/json")


async def test_progress_goes_before_the_answer_on_the_same_stream() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session("2025-06-18")
        tool.say(progress(1), progress(2), text("done"))
        answered = await session.open("tools/call", TOLD, ident=3).whole()
        assert (answered.status, answered.kind) == (200, "text/event-stream")
        assert [one.event for one in answered.events] == ["message"] * 3
        assert answered.messages[:2] == [progressed(1), progressed(2)]
        assert answered.messages[2]["id"] == 3


@pytest.mark.parametrize("token", ["p", "", 0, 7, 2**60, "7"])
async def test_a_progress_token_keeps_its_value_and_its_type(token: Any) -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        params = {**CALL, "_meta": {"progressToken": token}}
        tool.say(progress(1), text("done"))
        first = (await session.open("tools/call", params).whole()).messages[0]
        assert first == progressed(1, token)
        assert type(first["params"]["progressToken"]) is type(token)


async def test_who_gave_no_token_is_told_no_progress() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        tool.say(progress(1), text("done"))
        assert (await session.open("tools/call", CALL).whole()).kind == "application/json"


async def test_a_client_that_reads_no_streams_gets_its_answer_plain() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        tool.say(progress(1), text("done"), progress(2), text("done"))
        alone = await house.post(rpc("tools/call", TOLD, 1), headers=JSON_ONLY)
        assert (alone.kind, alone.json["id"]) == ("application/json", 1)
        session = await house.session()
        answered = await session.open("tools/call", TOLD, headers=JSON_ONLY).whole()
        assert answered.kind == "application/json"
        assert await session.get().message() == progressed(2)


async def test_log_lines_come_from_the_level_on_that_the_session_set() -> None:
    def line(level: str) -> Event:
        return Event("notifications/message", {"level": level, "data": level})

    async with House() as house:
        house.script.does("logging/setLevel", Answer(b"{}"))
        house.script.does("echo", tool := Stepwise())
        quiet, loud = await house.session(), await house.session()
        await quiet.ask("logging/setLevel", {"level": "error"})
        lines = [line("debug"), line("error"), line("odd")]
        heard = []
        for session in (quiet, loud):
            tool.say(*lines, text("done"))
            answered = await session.open("tools/call", CALL).whole()
            heard.append([one["params"]["level"] for one in answered.messages[:-1]])
        # A level that MCP does not know counts as info: it would pass any level else.
        assert heard == [["error"], ["debug", "error", "odd"]]
        assert [call.client.log_level for call in house.script.calls[1:]] == ["error", None]


async def test_a_level_that_does_not_exist_is_refused() -> None:
    async with House() as house:
        session = await house.session()
        for level in ("loud", None, ["info"]):
            answered = await session.ask("logging/setLevel", {"level": level})
            assert answered["error"]["code"] == -32602
        assert house.script.calls == []


# -- the stream of the session, and streams taken up again


async def test_the_stream_of_a_session_carries_what_servers_say() -> None:
    async with House() as house:
        session = await house.session()
        stream = session.get()
        assert (await stream.head())[0] == 200
        house.upstream.tell("notifications/tools/list_changed")
        told = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
        assert await stream.message() == told


async def test_what_nobody_carried_waits_for_a_stream_and_comes_once() -> None:
    async with House() as house:
        session = await house.session()
        house.upstream.tell("notifications/tools/list_changed")
        first = session.get()
        seen = await first.event()
        first.leave()
        await within(first.task)
        house.upstream.tell("notifications/prompts/list_changed")
        second = session.get()
        assert (await second.message())["method"] == "notifications/prompts/list_changed"
        again = session.get(seen.id)
        assert (await again.message())["method"] == "notifications/prompts/list_changed"


async def test_the_newest_stream_carries_and_the_one_before_takes_over_when_it_leaves() -> None:
    async with House() as house:
        session = await house.session()
        old = session.get()
        await old.head()
        new = session.get()
        await new.head()
        house.upstream.tell("notifications/a")
        assert (await new.message())["method"] == "notifications/a"
        new.leave()
        await within(new.task)
        house.upstream.tell("notifications/b")
        assert (await old.message())["method"] == "notifications/b"


async def test_a_stream_opens_with_an_event_to_resume_from_where_the_revision_has_it() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        for revision, primed in (("2025-06-18", False), ("2025-11-25", True)):
            session = await house.session(revision)
            tool.say(progress(1), text("done"))
            wire = session.open("tools/call", TOLD)
            first = await wire.event()
            assert (first.data == b"", first.id != "") == (primed, True)
            assert (wire.parser.retry_ms is not None) == primed


async def test_an_answer_that_a_broken_stream_lost_is_fetched_once_more() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        broken = session.open("tools/call", TOLD, ident=8)
        tool.say(progress(1), progress(2))
        primer, seen = await broken.event(), await broken.event()
        broken.leave()
        tool.say(progress(3), text("done"))
        resumed = await session.get(seen.id).whole()
        assert [one.get("params", {}).get("progress") for one in resumed.messages] == [2, 3, None]
        assert resumed.messages[-1]["id"] == 8
        whole = await session.get(primer.id).whole()
        assert whole.messages == [progressed(1), *resumed.messages]


async def test_a_running_call_goes_on_on_the_stream_that_took_it_up() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        broken = session.open("tools/call", TOLD, ident=8)
        tool.say(progress(1))
        await broken.event()
        seen = await broken.event()
        taken = session.get(seen.id)
        await taken.head()
        tool.say(progress(2), text("done"))
        answered = await taken.whole()
        assert [one.get("id") for one in answered.messages] == [None, 8]
        assert (await broken.whole()).messages == []


async def test_an_event_id_of_nobody_is_refused() -> None:
    async with House() as house:
        session, other = await house.session(), await house.session()
        house.upstream.tell("notifications/x")
        assert (await other.get().event()).id == "0-1"
        for last in ("9-1", "x", "0-x"):
            assert (await session.get(last).whole()).status == 400


async def test_a_stream_that_the_owner_closes_is_answered_to_the_client_that_comes_back() -> None:
    """MCP 2025-11-25: an id to come back with, a time to wait, the end, and the answer on a GET."""
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session("2025-11-25")
        wire = session.open("tools/call", CALL, ident=1)
        tool.say(Event(RECONNECT, {"retry_ms": 250}))
        closed = await wire.whole()
        assert [(one.data, one.id != "") for one in closed.events] == [(b"", True)] * 2
        assert b"retry: 250\n" in closed.body
        tool.say(text("done"))
        answered = await session.get(closed.events[-1].id).whole()
        assert [one["id"] for one in answered.messages] == [1]


async def test_a_long_call_is_answered_on_a_stream_where_that_can_be_resumed() -> None:
    """So that a client whose connection breaks before there was anything to say can come back."""
    async with House(stream_after_s=0.0) as house:
        house.script.does("echo", hang := Hang())
        session = await house.session("2025-11-25")
        wire = session.open("tools/call", CALL, ident=1)
        primer = await wire.event()
        assert (primer.data, wire.parser.retry_ms) == (b"", 1000)
        wire.leave()
        hang.end.set()
        assert [one["id"] for one in (await session.get(primer.id).whole()).messages] == [1]


async def test_a_long_call_is_answered_plain_where_it_cannot() -> None:
    async with House(stream_after_s=0.0) as house:
        house.script.does("echo", hang := Hang())
        older, session = await house.session("2025-06-18"), await house.session()
        wires = [
            older.open("tools/call", CALL),
            session.open("tools/call", CALL, headers=JSON_ONLY),
            house.open(rpc("tools/call", CALL, 1)),
            house.open(modern("tools/call", CALL)),
        ]
        for _ in wires:
            await house.began()
        await asyncio.sleep(0)
        hang.end.set()
        assert [(await wire.whole()).kind for wire in wires] == ["application/json"] * 4


async def test_nobody_is_sent_away_who_cannot_come_back() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        sent_away = Event(RECONNECT, {"retry_ms": 250})
        older = await house.session("2025-06-18")
        session = await house.session()
        openers: list[Callable[[], Wire]] = [
            lambda: older.open("tools/call", CALL),
            lambda: session.open("tools/call", CALL, headers=JSON_ONLY),
            lambda: house.open(rpc("tools/call", CALL, 1)),
            lambda: house.open(modern("tools/call", CALL)),
        ]
        for opener in openers:
            tool.say(sent_away, text("done"))
            assert (await opener().whole()).kind == "application/json"


async def test_finished_streams_do_not_pile_up_in_a_session() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        session = await house.session()
        first = None
        for _ in range(80):
            tool.say(progress(1), text("x"))
            answered = await session.open("tools/call", TOLD).whole()
            first = first or answered.events[0].id
        assert (await session.get(first).whole()).status == 400
        assert (await session.get(answered.events[0].id).whole()).messages == answered.messages


async def test_the_modern_revision_numbers_no_events() -> None:
    async with House() as house:
        house.script.does("echo", tool := Stepwise())
        tool.say(progress(1), text("done"))
        answered = await house.modern("tools/call", TOLD, meta={"progressToken": "p-1"})
        assert answered.kind == "text/event-stream"
        assert [one.id for one in answered.events] == ["", ""]
        assert answered.messages[0] == progressed(1)
        assert b"retry" not in answered.body
        assert jsonrpc.decode(answered.events[1].data)["result"]["resultType"] == "complete"
        assert MODERN not in answered.body.decode()

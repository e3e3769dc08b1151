"""Streams of a link over HTTP: polled, resumed, kept open, broken."""

from __future__ import annotations

import asyncio

import pytest

from gatewright.call import RECONNECT, Failure
from gatewright.config.model import ToolRule
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.servers.supervisor import Supervisor
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended, scripted
from tests.servers.rig import FakeBack, text, within
from tests.servers.test_subscriptions import Hearing
from tests.servers.web import Asked, http, site


async def polling(asked: Asked, retry: int) -> None:
    """Begin a stream, and end it before the answer (SEP-1699)."""
    asked.stream()
    asked.event(ident="e-1", retry=retry)
    asked.end()


async def test_a_stream_that_ends_before_its_answer_is_resumed() -> None:
    async with scripted() as (supervisor, server):
        back = FakeBack()
        calling = begin(supervisor, back, meta={"progressToken": "mine"})
        asked = await server.next("tools/call")
        await polling(asked, 10)
        rest = await server.next("GET")
        assert rest.headers["last-event-id"] == "e-1"
        assert rest.headers["mcp-session-id"] == "s-1"
        rest.stream()
        ident = asked.body["id"]
        note = {"progressToken": ident, "progress": 1}
        rest.event({"method": "notifications/progress", "params": note}, ident="e-2")
        rest.event({"id": ident, "result": DONE}, ident="e-3")
        rest.end()
        assert text(await ended(calling)) == "done"
        assert back.of("notifications/progress") == [{"progressToken": "mine", "progress": 1}]
        assert back.of(RECONNECT) == [{"retry_ms": 10}]


async def test_a_stream_that_cannot_be_resumed_leaves_the_outcome_unknown() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        await polling(await server.next("tools/call"), 0)
        (await server.next("GET")).say(405)
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert "cannot be resumed" in outcome.message


async def test_a_stream_without_event_ids_cannot_be_resumed() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        asked = await server.next("tools/call")
        asked.stream()
        asked.event()
        asked.end()
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert "ended before the answer" in outcome.message


async def test_a_stream_that_goes_on_after_its_answer_keeps_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gatewright.mcp.client.http_link.DRAIN_S", 0.05)
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        asked = await server.next("tools/call")
        asked.stream()
        asked.event({"id": asked.body["id"], "result": DONE})
        assert text(await ended(calling)) == "done"
        await asked.gone()


async def test_a_question_on_a_calls_own_stream_is_answered_by_a_post() -> None:
    async with scripted() as (supervisor, server):
        back = FakeBack(elicitation=NAME)
        calling = begin(supervisor, back)
        other = begin(supervisor, FakeBack(elicitation={"wrong": 1}), session="other")
        asked = await server.next("tools/call")
        asked.stream()
        asked.event({"id": "q", "method": "elicitation/create", "params": ASKED})
        second = await server.next("tools/call")
        answer = await server.next("")
        assert answer.body == {"jsonrpc": "2.0", "id": "q", "result": NAME}
        answer.say(202)
        asked.event({"id": asked.body["id"], "result": DONE})
        asked.end()
        second.result(DONE)
        await ended(calling)
        await ended(other)


async def test_unsolicited_messages_come_on_a_stream_that_is_kept_open() -> None:
    async with site() as server:
        spec = http("s", server.url, methods=("notifications/vendor.*",))
        supervisor = Supervisor([spec], info={"name": "g"})
        supervisor.start()
        hearing = Hearing(supervisor)
        found = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {}}
        (await server.next("server/discover")).say(404)
        (await server.next("initialize")).result(found, Mcp_Session_Id="s-1")
        (await server.next("notifications/initialized")).say(202)
        listening = await server.next("GET")
        listening.stream()
        listening.event(
            {"method": "notifications/vendor.x", "params": {"n": 1}}, ident="7", retry=5
        )
        await hearing.until(lambda heard: len(heard) == 1)
        listening.end()
        again = await server.next("GET")
        assert again.headers["last-event-id"] == "7"
        again.stream()
        again.event({"id": 3, "method": "roots/list"})
        answer = await server.next("")
        assert answer.body == {"jsonrpc": "2.0", "id": 3, "result": {"roots": []}}
        answer.say(202)
        again.drop()
        assert (await server.next("GET")).headers["last-event-id"] == "7"
        await within(supervisor.close(0.1))


async def test_a_server_that_ends_its_stream_at_once_and_wants_no_pause_is_paused_for() -> None:
    async with site() as server:
        supervisor = Supervisor([http("s", server.url, era="legacy")], info={"name": "g"})
        supervisor.start()
        server.welcome(await server.next("initialize"))
        (await server.next("notifications/initialized")).say(202)
        loop = asyncio.get_running_loop()
        for number in range(6):
            listening = await server.next("GET")
            if number == 0:
                begun = loop.time()
            listening.stream()
            listening.event(ident="1", retry=0)
            listening.end()
        assert loop.time() - begun >= 0.4
        await within(supervisor.close(0.1))


async def test_a_proxy_in_trouble_ends_no_stream_for_good() -> None:
    async with site() as server:
        supervisor = Supervisor([http("s", server.url, era="legacy")], info={"name": "g"})
        supervisor.start()
        server.welcome(await server.next("initialize"))
        (await server.next("notifications/initialized")).say(202)
        for status in (503, 429, 502):
            (await server.next("GET")).say(status)
        listening = await server.next("GET")
        listening.stream()
        listening.event({"id": 3, "method": "roots/list"})
        answer = await server.next("")
        assert answer.body == {"jsonrpc": "2.0", "id": 3, "result": {"roots": []}}
        answer.say(202)
        await within(supervisor.close(0.1))


@pytest.mark.parametrize("said", ["progress", "log", "chunk", "question"])
async def test_a_call_of_which_its_caller_has_heard_is_not_repeated(said: str) -> None:
    """It would hear the same again: chunks twice (MGP §12.4), progress that goes back."""
    rules = {"t": ToolRule(repeatable=True)}
    async with scripted(tools=rules, methods=None) as (supervisor, server):
        back = FakeBack(elicitation=NAME)
        calling = begin(supervisor, back, meta={"progressToken": "mine"})
        asked = await server.next("tools/call")
        ident = asked.body["id"]
        chunk = {"request_id": ident, "index": 0, "content": {"type": "text", "text": "a"}}
        messages: dict[str, dict[str, object]] = {
            "progress": {
                "method": "notifications/progress",
                "params": {"progressToken": ident, "progress": 1},
            },
            "log": {"method": "notifications/message", "params": {"level": "info", "data": "a"}},
            "chunk": {"method": CHUNK, "params": chunk},
            "question": {"id": "q", "method": "elicitation/create", "params": ASKED},
        }
        asked.stream()
        asked.event(messages[said])
        await back.until(lambda: bool(back.events or back.questions))
        if said == "question":
            (await server.next("")).say(202)
        asked.drop()
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert "outcome of the call is unknown" in outcome.message
        assert server.idle()
        assert len(back.events) + len(back.questions) == 1

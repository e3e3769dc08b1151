"""A link over Streamable HTTP against real servers, and against one that does exactly what a test wants."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Outcome
from gatewright.config.model import ToolRule
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.transport.base import Limits
from tests.servers import rig
from tests.servers.rig import FakeBack, ask, python, result, running, said, text, tool_call, within
from tests.servers.test_subscriptions import Hearing
from tests.servers.web import Site, http, site, web

NAME = {"action": "accept", "content": {"name": "n"}}
ASKED: dict[str, object] = {
    "message": "Which name?",
    "requestedSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
}
"""A question to which `NAME` is an answer."""
WORD = {"role": "assistant", "content": {"type": "text", "text": "w"}, "model": "m"}
DONE = {"content": [{"type": "text", "text": "done"}]}
SESSION = {"Mcp_Session_Id": "s-1"}


@asynccontextmanager
async def scripted(
    read_only: bool = False, session: str | None = "s-1", permits: Any = None, **more: Any
) -> AsyncIterator[tuple[Supervisor, Site]]:
    """A legacy server that the test writes, taken in and with one tool, `s/t`."""
    async with site() as server:
        side = ServerSide(permits=permits)
        supervisor = Supervisor([http("s", server.url, **more)], info={"name": "g"}, side=side)
        supervisor.start()
        await server.hello(**({"Mcp_Session_Id": session} if session else {}))
        await server.list_tools("t", read_only=read_only)
        await within(supervisor.settled())
        try:
            yield supervisor, server
        finally:
            closing = asyncio.ensure_future(supervisor.close(0.1))
            await within(asyncio.wait([closing]))


def begin(supervisor: Supervisor, back: FakeBack | None = None, **more: Any) -> Any:
    """A call of the tool, not waited for."""
    call = tool_call(supervisor, "s/t", {"x": 1}, **more)
    return asyncio.ensure_future(rig.dispatch(supervisor)(call, back or FakeBack()))


async def ended(calling: Any) -> Outcome:
    outcome: Outcome = await within(calling)
    return outcome


@pytest.mark.parametrize("server", ["asker", "modern_asker"])
async def test_everything_that_happens_in_a_call_happens_over_http_too(server: str) -> None:
    back = FakeBack(elicitation=NAME, sampling=WORD)
    async with web(server) as url, running(http("s", url)) as supervisor:
        twice = await ask(supervisor, "s/ask_twice", back=back)
        assert said(twice) == {"first": NAME, "second": WORD}
        progress = FakeBack()
        await ask(supervisor, "s/progress", back=progress, meta={"progressToken": "mine"})
        steps = progress.of("notifications/progress")
        assert [one["progress"] for one in steps] == [1, 2, 3]
        assert {one["progressToken"] for one in steps} == {"mine"}
        failed = await ask(supervisor, "s/fail")
        assert isinstance(failed, Failure)
        assert failed.error is not None
        assert b'"why"' in failed.error
        large = await ask(supervisor, "s/large")
        assert len(text(large)) == 1024 * 1024
        hearing = Hearing(supervisor)
        await ask(supervisor, "s/grow")
        await hearing.until(bool)
        assert hearing.heard[0] == ("s", "notifications/tools/list_changed", {})
        assert "s/grown_1" in supervisor.catalogue.view("").tools


@pytest.mark.parametrize("server", ["asker", "modern_asker"])
async def test_a_cancelled_call_is_cancelled_over_there(server: str) -> None:
    async with web(server) as url, running(http("s", url)) as supervisor:
        back = FakeBack()
        call = tool_call(supervisor, "s/slow", {"seconds": 15}, meta={"progressToken": 1})
        slow = asyncio.ensure_future(rig.dispatch(supervisor)(call, back))
        await back.until(lambda: bool(back.events))
        slow.cancel()
        async with asyncio.timeout(10):
            while not said(await ask(supervisor, "s/cancelled_ids")):
                continue


async def test_two_sessions_are_asked_at_once_and_each_its_own_question() -> None:
    async with web("asker") as url, running(http("s", url)) as supervisor:
        both = asyncio.Barrier(2)

        async def answer(name: str) -> dict[str, Any]:
            await both.wait()
            return {"action": "accept", "content": {"name": name}}

        outcomes = await within(
            asyncio.gather(
                *(
                    ask(
                        supervisor,
                        "s/ask_elicitation",
                        back=FakeBack(elicitation=lambda _, name=name: answer(name)),
                        session=name,
                    )
                    for name in ("a", "b")
                )
            )
        )
        assert [said(one)["content"]["name"] for one in outcomes] == ["a", "b"]


async def test_a_modern_server_gets_its_headers_from_the_body() -> None:
    async with web("modern_asker") as url, running(http("s", url)) as supervisor:
        headers = said(await ask(supervisor, "s/headers"))
        assert headers == {
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": "headers",
        }
        located = await ask(supervisor, "s/located", {"region": "é x", "message": "m"})
        assert text(located) == "m"


async def test_a_server_restarted_without_its_sessions_works_again_at_once() -> None:
    async with web("asker") as url:
        port = int(url.split(":")[2].partition("/")[0])
        supervisor = Supervisor([http("s", url)], info={"name": "g"}, startup_wait_s=20.0)
        supervisor.start()
        await within(supervisor.settled())
        assert text(await ask(supervisor, "s/structured", {"a": 1})) == '{"sum": 1}'
    try:
        begun = time.monotonic()
        down = await ask(supervisor, "s/tool_error")
        assert isinstance(down, Failure)
        assert down.reason == "upstream_unavailable"
        assert (down.retry_after_ms or 0) > 0
        assert time.monotonic() - begun < 5.0  # no timer of ours is shorter
        async with web("asker", port=port), asyncio.timeout(10):
            while isinstance(up := await ask(supervisor, "s/structured", {"a": 2}), Failure):
                await asyncio.sleep(0.05)
            assert text(up) == '{"sum": 2}'
    finally:
        await within(supervisor.close(1.0))


async def test_a_restart_between_two_calls_is_not_noticed_by_the_second() -> None:
    async with web("asker") as url:
        port = int(url.split(":")[2].partition("/")[0])
        supervisor = Supervisor([http("s", url)], info={"name": "g"}, startup_wait_s=20.0)
        supervisor.start()
        await within(supervisor.settled())
        await ask(supervisor, "s/tool_error")
    try:
        async with web("asker", port=port):
            outcome = await ask(supervisor, "s/tool_error")
            assert isinstance(outcome, Answer)
            assert outcome.tool_error
    finally:
        await within(supervisor.close(1.0))


async def test_a_lost_session_is_made_again_and_the_call_repeated() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        first = await server.next("tools/call")
        assert first.headers["mcp-session-id"] == "s-1"
        assert first.headers["mcp-protocol-version"] == "2025-11-25"
        first.say(404)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t", "new")
        second = await server.next("tools/call")
        assert second.headers["mcp-session-id"] == "s-2"
        second.result(DONE)
        assert text(await ended(calling)) == "done"
        hearing = Hearing(supervisor)
        if "s/new" not in supervisor.catalogue.view("").tools:
            await hearing.until(bool)
        assert "s/new" in supervisor.catalogue.view("").tools


async def test_many_calls_that_lost_one_session_make_one_new_session() -> None:
    async with scripted() as (supervisor, server):
        calls = [begin(supervisor) for _ in range(5)]
        for _ in calls:
            (await server.next("tools/call")).say(404)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        for _ in calls:
            (await server.next("tools/call")).result(DONE)
        assert [text(await ended(one)) for one in calls] == ["done"] * 5


async def test_a_server_that_keeps_no_session_is_not_asked_for_ever() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).say(404)
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        (await server.next("tools/call")).say(404)
        await server.initialize(Mcp_Session_Id="s-3")
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "restarting"
        assert "had forgotten our session; nothing was run" in outcome.message


@pytest.mark.parametrize("late", [False, True], ids=["refused for it", "begun meanwhile"])
async def test_a_call_does_not_go_to_a_tool_that_is_another_one_in_the_new_session(
    late: bool,
) -> None:
    """MGP-4.5-7 (fault test 26): what the server lists in the new session is looked at before anything is sent again."""
    async with scripted() as (supervisor, server):
        calls = [begin(supervisor)]
        (await server.next("tools/call")).say(404)
        hello = await server.next("initialize")
        if late:
            calls.append(begin(supervisor))
            await asyncio.sleep(0)
        server.welcome(hello, Mcp_Session_Id="s-2")
        (await server.next("notifications/initialized")).say(202)
        (await server.next("GET")).say(405)
        await server.list_tools("t", read_only=True)
        for calling in calls:
            outcome = await ended(calling)
            assert isinstance(outcome, Failure)
            assert "says something else of the tool t now" in outcome.message
        assert server.idle()


@pytest.mark.parametrize("end", ["result", "error"])
@pytest.mark.parametrize("as_text", [False, True])
async def test_a_404_that_answers_the_call_is_its_answer_and_later_calls_get_a_new_session(
    end: str, as_text: bool
) -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        asked = await server.next("tools/call")
        ident = str(asked.body["id"]) if as_text else asked.body["id"]
        said = {"result": DONE, "error": {"code": -32000, "message": "The customer is not known"}}
        asked.say(404, {"jsonrpc": "2.0", "id": ident, end: said[end]})
        outcome = await ended(calling)
        if end == "result":
            assert text(outcome) == "done"
        else:
            assert isinstance(outcome, Failure)
            assert b"customer" in (outcome.error or b"")
        ping = await server.next("ping")
        assert ping.headers["mcp-session-id"] == "s-1"
        ping.error(404, -32000, "The customer is not known")
        await server.initialize(Mcp_Session_Id="s-2")
        await server.list_tools("t")
        assert server.idle()
        again = begin(supervisor)
        second = await server.next("tools/call")
        assert second.headers["mcp-session-id"] == "s-2"
        second.result(DONE)
        assert text(await ended(again)) == "done"


async def test_a_404_without_a_session_is_just_a_404() -> None:
    async with scripted(session=None) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).error(404, -32601, "no such method")
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.error is not None
        assert b"no such method" in outcome.error


async def test_a_connection_that_breaks_in_a_call_leaves_its_outcome_unknown() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).drop()
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.reason == "upstream_unavailable"
        assert "outcome of the call is unknown" in outcome.message
        assert server.idle()


async def test_a_call_that_says_of_itself_that_it_only_reads_is_not_repeated() -> None:
    async with scripted(read_only=True) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).drop()
        assert isinstance(await ended(calling), Failure)
        assert server.idle()


async def test_a_call_of_which_the_operator_says_that_it_may_be_repeated_is_so_once() -> None:
    async with scripted(tools={"t": ToolRule(repeatable=True)}) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).drop()
        (await server.next("tools/call")).result(DONE)
        assert text(await ended(calling)) == "done"
        again = begin(supervisor)
        for _ in range(2):
            (await server.next("tools/call")).drop()
        assert isinstance(await ended(again), Failure)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (500, b"oops", "answered HTTP 500"),
        (302, b"", "a redirect, which is not followed (HTTP 302)"),
        (403, b"", "refused access"),
        (503, b"", "overloaded"),
        (202, b"", "without an answer"),
        (200, b"<html>", "without an answer"),
        (200, b'{"jsonrpc":"2.0","id":99999,"result":{}}', "without an answer"),
    ],
)
async def test_an_answer_that_is_none_fails_its_call_by_name(
    status: int, body: bytes, words: str
) -> None:
    async with scripted(session=None) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).say(status, body, Retry_After="7")
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert words in outcome.message
        assert outcome.retry_after_ms == (7000 if status == 503 else None)


async def test_an_error_without_an_id_belongs_to_the_request_it_answers() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).say(
            200, {"jsonrpc": "2.0", "id": None, "error": {"code": -5, "message": "odd"}}
        )
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert outcome.error is not None
        assert b"odd" in outcome.error


async def test_a_batch_in_an_answer_is_understood() -> None:
    async with scripted() as (supervisor, server):
        calling = begin(supervisor)
        asked = await server.next("tools/call")
        whole = {"jsonrpc": "2.0", "id": asked.body["id"], "result": DONE}
        asked.say(200, [{"jsonrpc": "2.0", "method": "notifications/x"}, whole])
        assert text(await ended(calling)) == "done"


async def test_an_answer_beyond_the_limit_is_refused_by_name() -> None:
    async with scripted(limits=Limits(frame_bytes=10_000)) as (supervisor, server):
        calling = begin(supervisor)
        (await server.next("tools/call")).result({"content": ["x" * 20_000]})
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert "more than 10000 bytes" in outcome.message


async def test_the_session_is_ended_with_the_link() -> None:
    async with scripted() as (supervisor, server):
        closing = asyncio.ensure_future(supervisor.close(2.0))
        goodbye = await server.next("DELETE")
        assert goodbye.headers["mcp-session-id"] == "s-1"
        goodbye.say(200)
        await within(closing)


async def test_the_operators_headers_go_with_every_request() -> None:
    async with scripted(headers={"X-Key": "k"}) as (supervisor, server):
        calling = begin(supervisor)
        asked = await server.next("tools/call")
        assert asked.headers["x-key"] == "k"
        asked.result(DONE)
        await ended(calling)


@pytest.mark.parametrize("mode", ["hang", "half-frame", "garbage", "error", "close", "not-http"])
async def test_what_is_no_mcp_server_is_in_no_good_state_and_costs_nobody(mode: str) -> None:
    async with web("bad", mode) as url:
        bad = http("bad", url, connect_s=1.0)
        async with running(bad, python("echo")) as supervisor:
            assert supervisor.states["bad"] != "connected"
            assert supervisor.status()[0].reason
            assert text(await ask(supervisor, "echo/echo", {"message": "x"})) == "x"


async def test_numbers_and_unknown_members_pass_over_http() -> None:
    async with web("extras") as url, running(http("s", url)) as supervisor:
        outcome = await ask(supervisor, "s/mirror", {"n": 2**70, "deep": [None, {"": 1.5}]})
        assert isinstance(outcome, Answer)
        assert result(outcome)["params"]["arguments"] == {"n": 2**70, "deep": [None, {"": 1.5}]}

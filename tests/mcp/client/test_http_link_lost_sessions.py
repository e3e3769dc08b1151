"""What is of a session that was lost is of none that comes after it: questions, what withdraws them, calls that run on, log lines."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Question
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.servers.supervisor import Supervisor
from tests.mcp.client.test_http_link import ASKED, DONE, NAME, begin, ended, scripted
from tests.mcp.client.test_http_link_ghosts import (
    Ends,
    answered_by_b,
    cut,
    listening,
    welcomed,
)
from tests.mcp.client.test_http_link_troubles import TWICE, link_of
from tests.servers.rig import FakeBack, text
from tests.servers.test_permission_admission import Permits
from tests.servers.web import Asked, Site


async def renewed(supervisor: Supervisor, server: Site) -> Asked:
    """Somebody else's call loses the session; the stream of the next."""
    calling = begin(supervisor, session="other")
    (await server.next("tools/call")).say(404)
    stream = await welcomed(server, "s-2")
    (await server.next("tools/call")).result(DONE)
    assert text(await ended(calling)) == "done"
    return stream


async def heard(server: Site, session: str) -> Any:
    """The next answer to the server, which is one in this session."""
    answer = await server.next("")
    answer.say(202)
    assert answer.headers["mcp-session-id"] == session
    return answer.body


def asking(stream: Asked) -> None:
    stream.event({"id": 0, "method": "elicitation/create", "params": ASKED})


async def test_a_question_of_a_lost_session_is_not_taken_for_one_of_the_next() -> None:
    """The next may ask by the same number: the answer to the one was taken for that to the other."""
    async with listening() as (supervisor, server, _):
        first = FakeBack(elicitation=NAME)
        old = begin(supervisor, first, session="a")
        old_stream = await server.next("tools/call")
        old_stream.stream()
        await renewed(supervisor, server)
        thought: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def think(question: Question) -> Any:
            return await thought

        thinking = FakeBack(elicitation=think)
        new = begin(supervisor, thinking, session="c")
        new_stream = await server.next("tools/call")
        new_stream.stream()
        asking(new_stream)
        await thinking.until(lambda: bool(thinking.questions))
        asking(old_stream)
        old_stream.event({"method": "notifications/cancelled", "params": {"requestId": 0}})
        old_stream.event({"id": old_stream.body["id"], "result": DONE})
        assert text(await ended(old)) == "done"
        assert first.questions == []
        assert "session was lost" in (await heard(server, "s-1"))["error"]["message"]
        thought.set_result(NAME)
        assert await heard(server, "s-2") == {"jsonrpc": "2.0", "id": 0, "result": NAME}
        assert server.idle()
        new_stream.event({"id": new_stream.body["id"], "result": DONE})
        assert text(await ended(new)) == "done"


async def test_a_call_of_a_lost_session_hears_of_its_progress_until_it_is_answered() -> None:
    async with listening() as (supervisor, server, _):
        back = FakeBack()
        calling = begin(supervisor, back, session="a", meta={"progressToken": "mine"})
        asked = await server.next("tools/call")
        asked.stream()
        await renewed(supervisor, server)
        note = {"progressToken": asked.body["id"], "progress": 1}
        asked.event({"method": "notifications/progress", "params": note})
        asked.event({"id": asked.body["id"], "result": DONE})
        assert text(await ended(calling)) == "done"
        assert back.of("notifications/progress") == [{"progressToken": "mine", "progress": 1}]


@pytest.mark.parametrize("ends", [cut, Asked.drop, lambda asked: asked.say(504)])
async def test_a_call_that_is_lost_with_its_session_asks_in_no_other(ends: Ends) -> None:
    """Nobody was asked any more for as long as the next session lasted."""
    async with listening() as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        stream = await renewed(supervisor, server)
        ends(asked)
        assert isinstance(await ended(calling), Failure)
        assert await answered_by_b(supervisor, server, stream) == NAME


async def test_a_call_that_is_lost_while_the_next_session_is_made_asks_in_no_other() -> None:
    async with listening() as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        other = begin(supervisor, session="other")
        (await server.next("tools/call")).say(404)
        hello = await server.next("initialize")
        asked.drop()
        assert isinstance(await ended(calling), Failure)
        server.welcome(hello, Mcp_Session_Id="s-2")
        (await server.next("notifications/initialized")).say(202)
        stream = await server.next("GET")
        stream.stream()
        await server.list_tools("t")
        (await server.next("tools/call")).result(DONE)
        await ended(other)
        assert await answered_by_b(supervisor, server, stream) == NAME


async def test_a_call_that_is_cancelled_after_its_session_asks_in_no_other() -> None:
    async with listening() as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        await server.next("tools/call")
        stream = await renewed(supervisor, server)
        calling.cancel()
        told = await server.next("notifications/cancelled")
        assert told.headers["mcp-session-id"] == "s-1"
        told.say(202)
        assert await answered_by_b(supervisor, server, stream) == NAME
        assert server.idle()


async def test_a_call_of_a_lost_session_is_not_asked_in_the_place_of_another() -> None:
    """It is answered still; what is asked and said in the next is not about it."""
    async with listening() as (supervisor, server, _):
        back = FakeBack(elicitation={"wrong": 1})
        calling = begin(supervisor, back, session="a")
        asked = await server.next("tools/call")
        stream = await renewed(supervisor, server)
        asking(stream)
        refused = await server.next("")
        assert "no call is in flight" in refused.body["error"]["message"]
        refused.say(202)
        stream.event({"method": "notifications/message", "params": {"level": "info", "data": "b"}})
        assert await answered_by_b(supervisor, server, stream) == NAME
        asked.result(DONE)
        assert text(await ended(calling)) == "done"
        assert (back.questions, back.events) == ([], [])


async def test_the_stream_of_a_call_is_not_resumed_in_another_session() -> None:
    """A stream of the same id may be somebody else's there, with what was said to that one."""
    async with listening() as (supervisor, server, _):
        calling = begin(supervisor, FakeBack(), session="a")
        asked = await server.next("tools/call")
        asked.stream()
        await renewed(supervisor, server)
        asked.event(ident="e-1", retry=0)
        asked.end()
        outcome = await ended(calling)
        assert isinstance(outcome, Failure)
        assert "outcome of the call is unknown" in outcome.message
        assert server.idle()


class Unable(Permits):
    """Says how permissions stand once, and cannot write that down any more."""

    def __init__(self) -> None:
        super().__init__()
        self.broken = False

    def declared(self, server: str, permissions: Any) -> Any:
        """Raises what is no word about the server."""
        if self.broken:
            raise OSError("the disk is full")
        return super().declared(server, permissions)


async def test_a_session_of_which_the_permissions_cannot_be_written_down_takes_no_calls() -> None:
    """They went to it without having been admitted."""
    permits, made = unable()
    async with made as (supervisor, server):
        await not_admitted(supervisor, server, permits)
        assert isinstance(await ended(begin(supervisor)), Failure)
        (await server.next("DELETE")).say(200)
        while not server.idle():
            assert (await server.next()).method not in ("tools/call", "tools/list")


async def test_who_pings_on_a_stream_of_a_lost_session_is_answered_in_that() -> None:
    """One of several servers knows it still, and hung up on whoever did not answer."""
    async with listening() as (supervisor, server, _):
        calling = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        asked.stream()
        await renewed(supervisor, server)
        asked.event({"id": 7, "method": "ping"})
        assert await heard(server, "s-1") == {"jsonrpc": "2.0", "id": 7, "result": {}}
        asked.event({"id": asked.body["id"], "result": DONE})
        assert text(await ended(calling)) == "done"


async def not_admitted(supervisor: Supervisor, server: Site, permits: Unable) -> None:
    """The session is lost to somebody, and the next is not let in."""
    permits.broken = True
    calling = begin(supervisor, session="other")
    (await server.next("tools/call")).say(404)
    mgp = {"version": "0.2.0", "extensions": ["security"], "permissions_required": ["camera"]}
    said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}, "mgp": mgp}}
    hello = await server.next("initialize")
    hello.result({**said, "serverInfo": {}}, Mcp_Session_Id="s-2")
    assert isinstance(await ended(calling), Failure)


def unable() -> Any:
    permits = Unable()
    face = Face(("security",))
    return permits, scripted(face=face, permits=permits, restart_wait_s=0.1, tools=TWICE)


async def test_a_call_that_breaks_is_not_repeated_in_a_session_that_was_not_let_in() -> None:
    permits, made = unable()
    async with made as (supervisor, server):
        running = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        await not_admitted(supervisor, server, permits)
        asked.drop()
        outcome = await ended(running)
        assert isinstance(outcome, Failure)
        assert outcome.details["sent"] is True
        while not server.idle():
            assert (await server.next()).method != "tools/call"


async def test_in_a_session_that_was_not_let_in_nothing_is_said() -> None:
    permits, made = unable()
    async with made as (supervisor, server):
        link = supervisor._servers["s"].link
        running = begin(supervisor, session="a")
        await server.next("tools/call")
        await not_admitted(supervisor, server, permits)
        link.notify("notifications/roots/list_changed", {})
        running.cancel()
        told = await server.next("notifications/cancelled")
        assert told.headers["mcp-session-id"] == "s-1"
        while not server.idle():
            assert "roots" not in (await server.next()).method


async def test_a_repeatable_call_that_breaks_after_its_session_is_judged_before_it_is_repeated() -> (
    None
):
    """The tool may be another one by then."""
    async with listening(tools=TWICE) as (supervisor, server, _):
        running = begin(supervisor, session="a")
        asked = await server.next("tools/call")
        losing = begin(supervisor, session="other")
        (await server.next("tools/call")).say(404)
        server.welcome(await server.next("initialize"), Mcp_Session_Id="s-2")
        (await server.next("notifications/initialized")).say(202)
        (await server.next("GET")).stream()
        lists = await server.next("tools/list")
        asked.drop()
        await asyncio.sleep(0.1)
        assert server.idle()
        lists.result({"tools": []})
        for call in (running, losing):
            assert not isinstance(await ended(call), Answer)
        assert server.idle()


async def test_what_comes_late_in_answer_to_nothing_is_of_the_session_in_which_that_was_said() -> (
    None
):
    async with listening() as (supervisor, server, _):
        link = supervisor._servers["s"].link
        assert link is not None
        link.notify("notifications/roots/list_changed", {})
        told = await server.next("notifications/roots/list_changed")
        told.stream()
        stream = await renewed(supervisor, server)
        back = FakeBack(elicitation={"wrong": 1})
        calling = begin(supervisor, back, session="a")
        asked = await server.next("tools/call")
        asking(told)
        told.event({"method": "notifications/message", "params": {"level": "info", "data": "b"}})
        told.end()
        asking(stream)
        assert await heard(server, "s-2")
        asked.result(DONE)
        assert text(await ended(calling)) == "done"
        assert (len(back.questions), back.events) == (1, [])


async def test_what_comes_in_answer_to_a_post_into_a_lost_session_is_of_no_other() -> None:
    """That a question of it is refused was answered with one more, which was put to a caller of the next."""
    async with listening() as (supervisor, server, _):
        old = begin(supervisor, session="a")
        old_stream = await server.next("tools/call")
        old_stream.stream()
        await renewed(supervisor, server)
        back = FakeBack(elicitation=NAME)
        new = begin(supervisor, back, session="c")
        asked = await server.next("tools/call")
        asking(old_stream)
        refused = await server.next("")
        assert refused.headers["mcp-session-id"] == "s-1"
        refused.stream()
        refused.event({"id": 1, "method": "elicitation/create", "params": ASKED})
        refused.end()
        await asyncio.sleep(0.1)
        asked.result(DONE)
        assert text(await ended(new)) == "done"
        assert back.questions == []
        old_stream.event({"id": old_stream.body["id"], "result": DONE})
        assert text(await ended(old)) == "done"


async def called_back(supervisor: Supervisor, server: Site, back: FakeBack, session: str) -> Any:
    """A call of a session asks its caller by a callback, on its own stream, and that is being asked."""
    calling = begin(supervisor, back, session=session)
    stream = await server.next("tools/call")
    stream.stream()
    params = {"callback_id": "1", "type": "confirmation", "message": "Go?"}
    stream.event({"method": CALLBACK, "params": params})
    await back.until(lambda: bool(back.questions))
    return calling, stream


async def test_a_callback_of_a_lost_session_is_not_taken_for_one_of_the_next() -> None:
    """The next may ask by the same id: its call failed for that, and the answer to the one was taken for that to the other."""
    async with listening() as (supervisor, server, _):
        link: Any = link_of(supervisor)
        link._sendable.tells = lambda method, hello: True  # as between peers that negotiated MGP
        thought: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        async def think(question: Question) -> Any:
            return await asyncio.shield(thought)

        first, second = FakeBack(), FakeBack()
        first._answers[CALLBACK] = second._answers[CALLBACK] = think
        old, _ = await called_back(supervisor, server, first, "a")
        await renewed(supervisor, server)
        outcome = await ended(old)
        assert isinstance(outcome, Failure)
        assert "lost the session" in outcome.message
        new, stream = await called_back(supervisor, server, second, "c")
        thought.set_result({"response": "confirm"})
        answer = await server.next("mgp/callback/respond")
        assert answer.headers["mcp-session-id"] == "s-2"
        answer.result({})
        stream.event({"id": stream.body["id"], "result": DONE})
        assert text(await ended(new)) == "done"

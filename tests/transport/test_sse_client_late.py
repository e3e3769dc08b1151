"""Servers of HTTP+SSE that accept a message late, the POST of a call when that is done, or never."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.mcp.client.outgoing import question
from gatewright.mcp.wire.jsonrpc import notification
from gatewright.transport import http_pool, open_posts, session_liveness, sse_client
from gatewright.transport.base import Limits
from gatewright.transport.posted_messages import MEANS_NOTHING
from gatewright.transport.sse_client import SsePipe
from tests.transport.collecting import within
from tests.transport.http_peers import Turn, json_answer
from tests.transport.sse_peers import Choosy, Connect, Losing, SseServer, call, nobody

REQUEST = call(17)
REQUEST_SOON = call(99, "soon")


class Late(SseServer):
    """Answers the POST of what has this in it when it is told to; what is posted comes back on the stream before."""

    def __init__(self, late: bytes) -> None:
        super().__init__()
        self.late = late
        self.release = asyncio.Event()

    async def _answer(self, turn: Turn) -> None:
        if self.late in turn.body and not turn.head.startswith(b"GET"):
            self.posted.append(turn.body)
            gone = asyncio.ensure_future(turn.reader.read(1))
            released = asyncio.ensure_future(self.release.wait())
            both: list[asyncio.Future[Any]] = [gone, released]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            for one in both:
                one.cancel()
            if not released.done():
                raise ConnectionError
            self.posted.pop()
        await super()._answer(turn)

    async def has(self, count: int) -> None:
        """Wait until so many messages were posted."""
        async with asyncio.timeout(10):
            while len(self.posted) < count:
                await asyncio.sleep(0.005)


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A server is late after very little."""
    monkeypatch.setattr(sse_client, "ORDER_S", 0.02)
    monkeypatch.setattr(sse_client, "POST_S", 0.05)
    return monkeypatch


async def test_a_message_answered_late_does_not_hold_up_the_next_for_long(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse_client, "ORDER_S", 0.02)
    release = asyncio.Event()

    class Late(SseServer):
        async def _answer(self, turn: Turn) -> None:
            if turn.body == b"late":
                await within(release.wait())
            await super()._answer(turn)

    async with Late() as server:
        pipe, collector = await connected(server)
        pipe.send(b"late")
        pipe.send(b"next")
        assert await collector.count(1) == [b"next"]
        release.set()
        assert await collector.count(2) == [b"next", b"late"]


async def test_a_call_whose_post_is_answered_when_it_is_done_has_all_the_time(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """After half a minute the connection ended, and the calls of all."""
    async with Late(b"x") as server:
        pipe, collector = await connected(server)
        pipe.send(REQUEST)
        await asyncio.sleep(4 * sse_client.POST_S)
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        server.release.set()
        await collector.until(lambda: REQUEST in collector.messages)
        assert not server.lost.is_set()


async def test_a_server_that_answers_posts_late_holds_nobody_up_by_calls(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """All callers together began one call a second."""
    async with Late(b"x") as server:
        pipe, _ = await connected(server, lost=nobody)
        pipe.send(call(17))
        pipe.send(call(18))
        await server.has(2)
        soon.setattr(sse_client, "ORDER_S", 3600.0)
        for ident in range(19, 25):
            pipe.send(call(ident))
        await server.has(8)
        assert server.posted == [call(ident) for ident in range(17, 25)]
        server.release.set()


async def test_a_long_call_that_is_accepted_late_makes_no_slow_reader(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    async with Late(b"x") as server:
        limits = Limits(queue_bytes=1000, burst_bytes=20_000, patience_s=3600.0)
        pipe, collector = await connected(server, lost=nobody, limits=limits)
        pipe.send(call(17, "x" * 5000))
        await server.has(1)
        async with asyncio.timeout(10):
            while pipe._held:
                await asyncio.sleep(0.005)
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)


async def test_a_message_that_is_never_accepted_ends_no_others_calls(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    async with Late(b"cancelled") as server:
        pipe, collector = await connected(server)
        pipe.send(notification("notifications/cancelled", {"requestId": 17}))
        await within(server.lost.wait())  # it is waited for no longer
        pipe.send(REQUEST)
        await collector.until(lambda: REQUEST in collector.messages)


async def test_of_posts_that_are_never_answered_the_oldest_is_let_go_and_said_to_be_lost(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """A call that was waited for was let go without a word."""
    losing = Losing()
    async with Late(b"x") as server:
        most = sse_client.SPARE + 2
        pipe, collector = await connected(server, lost=losing, most=lambda: most)
        for ident in (17, 18, 19):
            pipe.send(call(ident))
        assert await losing.one() == (17, "too many others wait to be accepted", True)
        await within(server.lost.wait())
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)


async def test_the_post_of_a_call_that_is_over_is_ended_whatever_was_the_cause(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """Each kept a connection, and the server a thread, for as long as the stream lasted."""
    soon.setattr(open_posts, "OVER_S", 0.01)
    waiting = {17}
    async with Late(b"x") as server:
        pipe, _ = await connected(server, lost=nobody, waits=waiting.__contains__)
        pipe.send(call(17, "x" * 5000))
        await server.has(1)
        await asyncio.sleep(0.05)
        assert not server.lost.is_set()
        waiting.clear()
        await within(server.lost.wait())
        async with asyncio.timeout(10):
            while pipe.waiting:
                await asyncio.sleep(0.005)


async def test_long_calls_that_are_not_accepted_count_as_waiting(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """Nothing bounded them: that they were begun was taken for that they were read."""
    async with Late(b"x") as server:
        pipe, _ = await connected(server, lost=nobody)
        frame = call(17, "x" * 5000)
        pipe.send(frame)
        await server.has(1)
        async with asyncio.timeout(10):
            while pipe._held:
                await asyncio.sleep(0.005)
        assert pipe.waiting == len(frame)
        server.release.set()
        async with asyncio.timeout(10):
            while pipe.waiting:
                await asyncio.sleep(0.005)


async def test_a_call_whose_post_breaks_waits_for_its_answer_where_posts_are_answered_late(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """Whoever stands between may have given the POST up; the answer comes on the stream."""

    class Breaking(Late):
        async def _answer(self, turn: Turn) -> None:
            if b"breaks" in turn.body:
                raise ConnectionError
            await super()._answer(turn)

    losing = Losing()
    async with Breaking(b"slow") as server:
        pipe, collector = await connected(server, lost=losing)
        pipe.send(call(17, "slow"))
        await server.has(1)
        await _accepts(pipe, late=True)
        pipe.send(call(18, "breaks"))
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        await asyncio.sleep(0.05)
        assert losing.found == []


async def test_a_server_that_says_hello_late_is_not_known_to_accept_calls_late(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    async with Late(b"initialize") as server:
        pipe, collector = await connected(server, lost=nobody)
        pipe.send(question(1, "initialize", {}))
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        assert not pipe._posts.accepts_late


async def test_nobody_waits_while_it_is_asked_whether_anything_is_taken(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    class Asked(Choosy):
        async def _answer(self, turn: Turn) -> None:
            if b"cancelled" in turn.body:
                await turn.gone()
            await super()._answer(turn)

    soon.setattr(sse_client, "ORDER_S", 3600.0)
    soon.setattr(sse_client, "POST_S", 3600.0)
    async with Asked(b"x", b"403 Forbidden") as server:
        pipe, collector = await connected(server)
        pipe.send(REQUEST)
        pipe.send(b"2")
        await collector.until(lambda: b"2" in collector.messages)
        pipe._finish("over")


async def test_closing_posts_for_so_long_and_no_longer(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waited for each message that was in line."""
    monkeypatch.setattr(sse_client, "CLOSE_S", 0.1)
    monkeypatch.setattr(sse_client, "ORDER_S", 3600.0)
    async with Late(b"slow") as server:
        pipe, collector = await connected(server)
        for _ in range(5):
            pipe.send(b"slow")
        await server.has(1)
        pipe.close()
        assert await collector.end() == "closed"
        assert len(server.posted) == 1


async def test_a_post_that_has_its_status_is_not_ended_while_it_is_asked_what_that_means(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """Whoever called is told at once that it is lost, or goes away; the answer is that of all."""

    class Asked(Late):
        async def _answer(self, turn: Turn) -> None:
            self.answer = json_answer(b"{}", b"403 Forbidden")
            await super()._answer(turn)

    soon.setattr(open_posts, "OVER_S", 0.01)
    soon.setattr(sse_client, "POST_S", 3600.0)
    waiting = {17}
    async with Asked(b"cancelled") as server:
        pipe, collector = await connected(server, waits=waiting.__contains__)
        pipe.send(REQUEST)
        async with asyncio.timeout(10):
            while MEANS_NOTHING not in server.posted:
                await asyncio.sleep(0.005)
        waiting.clear()
        await asyncio.sleep(0.05)
        server.release.set()
        assert await collector.end() == "a message was refused: HTTP 403"


@pytest.mark.parametrize("runs", [True, False])
async def test_a_call_that_is_accepted_while_it_runs_shows_a_server_that_was_slow_for_once(
    runs: bool, connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """One that was slow for a moment was taken for one that is late with all for ever, and what was lost was not said."""
    waiting = set(range(17, 22))
    async with Late(b"slow") as server:
        pipe, collector = await connected(server, lost=nobody, waits=waiting.__contains__)
        pipe.send(call(17, "slow"))
        await server.has(1)
        await _accepts(pipe, late=True)
        soon.setattr(sse_client, "ORDER_S", 3600.0)  # what comes now is soon, on a busy machine too
        if not runs:
            waiting.discard(20)
        for ident in range(18, 21):
            assert pipe._posts.accepts_late
            pipe.send(call(ident, "soon"))
        await collector.until(lambda: call(20, "soon") in collector.messages)
        await asyncio.sleep(0 if runs else 5 * open_posts._RUNS_ON_S)
        await _accepts(pipe, late=not runs)


async def test_a_server_that_is_far_is_not_one_that_accepts_late(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """Farther than what a message waits for one that is accepted late. One that was slow once was taken for such a one for ever."""

    class Far(Late):
        async def _answer(self, turn: Turn) -> None:
            await asyncio.sleep(4 * sse_client.SOON_S)
            await super()._answer(turn)

    soon.setattr(sse_client, "ORDER_S", 0.3)
    soon.setattr(sse_client, "SOON_S", 0.01)
    async with Far(b"slow") as server:
        pipe, collector = await connected(server, lost=nobody, waits=lambda ident: True)
        pipe.send(call(17, "slow"))
        await _accepts(pipe, late=True)
        for ident in range(18, 21):
            pipe.send(call(ident, "soon"))
            await asyncio.sleep(0.05)
        await _accepts(pipe, late=False)
        assert call(20, "soon") in collector.messages


async def _accepts(pipe: SsePipe, *, late: bool) -> None:
    async with asyncio.timeout(10):
        while pipe._posts.accepts_late is not late:
            await asyncio.sleep(0.005)


async def test_many_that_are_accepted_late_hold_nobody_up_for_longer_than_one(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of requests other than calls no server is known to accept them late, and one caller's thirty held the next up for half a minute."""
    monkeypatch.setattr(sse_client, "ORDER_S", 0.2)
    monkeypatch.setattr(sse_client, "SOON_S", 0.005)
    async with Late(b"resources/read") as server:
        pipe, collector = await connected(server, lost=nobody)
        loop = asyncio.get_running_loop()
        began = loop.time()
        for ident in range(17, 47):
            pipe.send(question(ident, "resources/read", {"uri": f"x:{ident}"}))
        pipe.send(REQUEST_SOON)
        await collector.until(lambda: REQUEST_SOON in collector.messages)
        assert loop.time() - began < 10 * sse_client.ORDER_S
        assert not pipe._posts.accepts_late


async def test_a_server_that_has_as_many_connections_as_it_takes_ends_no_other_calls(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    """One caller's calls, each a POST that is answered when it is done, filled what the server gives one address: the calls of all were lost."""
    soon.setattr(session_liveness, "UNREACHED_S", 0.0)
    soon.setattr(http_pool, "REFUSED_S", 0.0)
    soon.setattr(session_liveness, "WORKS_S", 0.01)
    waiting, losing = set(range(17, 22)), Losing()
    async with Late(b"slow") as server:
        pipe, collector = await connected(server, lost=losing, waits=waiting.__contains__)
        pipe._upstream._pool._keep_alive_s = -1.0  # each message has a connection of its own
        pipe.send(call(17, "slow"))
        await server.has(1)
        await asyncio.sleep(0.02)
        server._server.close()
        for ident in range(18, 21):
            pipe.send(call(ident))
            async with asyncio.timeout(10):
                while [one for one, _, _ in losing.found] != [*range(18, ident + 1)]:
                    await asyncio.sleep(0.005)
        assert pipe._end.reason is None
        waiting.discard(17)
        pipe.send(call(21))
        assert await collector.end() == losing.found[-1][1]


async def test_a_call_whose_answer_is_none_of_http_is_lost_where_posts_are_answered_late_too(
    connected: Connect, soon: pytest.MonkeyPatch
) -> None:
    class Wrong(Late):
        async def _answer(self, turn: Turn) -> None:
            if b"wrong" in turn.body:
                await turn.say(b"what?\r\n\r\n")
                raise ConnectionError
            await super()._answer(turn)

    losing = Losing()
    async with Wrong(b"slow") as server:
        pipe, _ = await connected(server, lost=losing)
        pipe._posts.accepts_late = True
        pipe.send(call(17, "wrong"))
        assert (await losing.one())[::2] == (17, True)

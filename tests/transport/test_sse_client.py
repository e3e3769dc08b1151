from __future__ import annotations

import pytest

from gatewright.transport import sse_client, sse_endpoint
from gatewright.transport.base import SLOW_READER, Closed, Limits
from gatewright.transport.http_client import BadAnswer, CannotReach, UpstreamError
from gatewright.transport.sse_client import NoEventStream, SsePipe, connect_sse
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import (
    ScriptedServer,
    Turn,
    event_stream,
    free_port,
    json_answer,
)
from tests.transport.sse_peers import ENDPOINT, NONE, Connect, SseServer


async def test_messages_go_by_post_and_come_back_on_the_stream_in_order(connected: Connect) -> None:
    async with SseServer() as server:
        pipe, collector = await connected(server, headers={"Authorization": "Bearer x"})
        sent = [b'{"id":%d}' % number for number in range(50)]
        for message in sent:
            pipe.send(message)
        assert await collector.count(50) == sent
        assert server.posted == sent
        post = next(turn for turn in server.turns if turn.head.startswith(b"POST"))
        assert post.head.startswith(b"POST /messages?session=1 HTTP/1.1\r\n")
        assert {turn.header("authorization") for turn in server.turns} == {"Bearer x"}


async def test_an_endpoint_may_be_an_absolute_url_of_the_same_origin(connected: Connect) -> None:
    async with SseServer() as server:
        origin = server.url.removesuffix("/mcp").encode()
        server.first = b"event: endpoint\ndata: " + origin + b"/m\n\n"
        pipe, collector = await connected(server)
        pipe.send(b"{}")
        assert await collector.count(1) == [b"{}"]


@pytest.mark.parametrize(
    "endpoint",
    [
        b"http://127.0.0.1:1/m",
        b"//elsewhere/m",
        b"https://127.0.0.1/m",
        b"http://[bad/",
        b"file:///m",
    ],
)
async def test_an_endpoint_of_another_origin_is_refused(
    connected: Connect, endpoint: bytes
) -> None:
    async with SseServer(b"event: endpoint\ndata: " + endpoint + b"\n\n") as server:
        with pytest.raises(BadAnswer, match="another origin") as caught:
            await connected(server)
        assert caught.value.not_sent is True
        await within(server.lost.wait())


async def test_a_server_without_a_stream_says_with_which_status(connected: Connect) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"{}", b"401 Unauthorized", b"www-authenticate: Bearer\r\n"))

    async with ScriptedServer(script) as server:
        with pytest.raises(NoEventStream, match="HTTP 401") as caught:
            await connected(server)
    assert caught.value.answer.headers["www-authenticate"] == "Bearer"


async def test_a_redirect_of_the_stream_says_where_it_leads(connected: Connect) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"{}", b"308 Permanent Redirect", b"location: /sse/\r\n"))

    async with ScriptedServer(script) as server:
        with pytest.raises(NoEventStream, match=r"redirect to http://.*/sse/, which is not"):
            await connected(server)


async def test_a_server_that_names_no_endpoint_is_given_up(
    connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse_client, "ENDPOINT_S", 0.1)
    async with SseServer(b"data: {}\n\n") as server:
        with pytest.raises(BadAnswer, match="did not name its endpoint"):
            await connected(server)
        await within(server.lost.wait())


async def test_a_stream_that_ends_before_it_named_an_endpoint_is_a_bad_answer(
    connected: Connect,
) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(event_stream(b"data: {}\n\n"))

    async with ScriptedServer(script) as server:
        with pytest.raises(BadAnswer, match="did not name its endpoint"):
            await connected(server)


async def test_a_server_that_is_not_there_cannot_be_reached() -> None:
    with pytest.raises(CannotReach):
        await within(
            connect_sse(
                f"http://127.0.0.1:{free_port()}/",
                receiver=Collector(),
                requests=NONE,
            )
        )


async def test_nothing_is_delivered_before_the_pipe_is_in_its_owners_hands() -> None:
    async with SseServer(ENDPOINT + b"data: early\n\n") as server:
        held: list[SsePipe] = []

        def send_back(message: bytes) -> None:
            held[0].send(message)

        collector = Collector(send_back)
        held.append(await connect_sse(server.url, receiver=collector, requests=NONE))
        await collector.count(2)
        assert collector.messages == [b"early", b"early"]
        held[0].close()
        await within(held[0].wait_closed())


async def test_the_end_of_the_stream_ends_the_pipe(connected: Connect) -> None:
    async with SseServer() as server:
        pipe, collector = await connected(server)
        await server.event(b"last", b"0\r\n\r\n")
        assert await collector.end() == "closed by the peer"
        assert collector.messages == [b"last"]
        with pytest.raises(Closed, match="closed by the peer"):
            pipe.send(b"{}")
        assert await within(pipe.wait_closed()) == "closed by the peer"


async def test_closing_posts_what_was_sent_and_closes_the_stream(connected: Connect) -> None:
    async with SseServer() as server:
        pipe, collector = await connected(server)
        pipe.send(b"1")
        pipe.send(b"2")
        pipe.close()
        pipe.close()
        with pytest.raises(Closed, match="closed"):
            pipe.send(b"3")
        assert await collector.end() == "closed"
        assert await within(pipe.wait_closed()) == "closed"
        assert server.posted == [b"1", b"2"]
        await within(server.lost.wait())


async def test_a_server_that_accepts_nothing_is_a_slow_reader(connected: Connect) -> None:
    class Deaf(SseServer):
        async def _answer(self, turn: Turn) -> None:
            if turn.head.startswith(b"GET"):
                await super()._answer(turn)
            await turn.gone()

    async with Deaf() as server:
        limits = Limits(queue_bytes=1000, burst_bytes=2000)
        pipe, collector = await connected(server, limits=limits)
        pipe.send(b"x" * 1500)
        with pytest.raises(Closed, match=SLOW_READER):
            pipe.send(b"x" * 1500)
        assert await collector.end() == SLOW_READER


async def test_an_event_over_the_limit_ends_the_pipe(connected: Connect) -> None:
    async with SseServer() as server:
        _, collector = await connected(server, limits=Limits(frame_bytes=1000))
        await server.event(b"x" * 1001)
        assert "longer than 1000 bytes" in await collector.end()
        assert collector.messages == []


async def test_the_error_of_an_opening_says_nothing_was_sent(connected: Connect) -> None:
    async with SseServer(b"event: endpoint\ndata: http://127.0.0.1:1/m\n\n") as server:
        with pytest.raises(UpstreamError) as caught:
            await connected(server)
        assert caught.value.not_sent is True


async def test_an_endpoint_that_is_longer_than_any_is_refused(connected: Connect) -> None:
    """The library remembers the URLs that it is given."""
    endpoint = b"/m?" + b"x" * sse_endpoint.ENDPOINT_CHARS
    async with SseServer(b"event: endpoint\ndata: " + endpoint + b"\n\n") as server:
        with pytest.raises(BadAnswer, match="more than 8192 characters"):
            await connected(server)

from __future__ import annotations

import asyncio
import gzip

import pytest

from gatewright.transport import http_client
from gatewright.transport.base import Limits
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import (
    Reach,
    ScriptedServer,
    Turn,
    answering,
    event_stream,
    free_port,
    json_answer,
    nothing,
)

# -- answers


async def test_a_json_answer_comes_back_whole(reach: Reach) -> None:
    body = b'{"result":' + b" " * 300_000 + b"{}}"
    async with answering(json_answer(body)) as server:
        posted = await within(reach(server.url).post(b'{"id":1}', {"X-A": "b"}, nothing))
        assert (posted.status, posted.body, posted.streamed) == (200, body, False)
        (turn,) = server.turns
        assert turn.body == b'{"id":1}'
        assert turn.header("accept") == "application/json, text/event-stream"
        assert turn.header("content-type") == "application/json"
        assert turn.header("accept-encoding") == "identity"
        assert turn.header("x-a") == "b"
        assert (turn.header("user-agent") or "").startswith("gatewright/")


async def test_the_callers_headers_win_over_the_usual_ones(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        await within(reach(server.url).post(b"{}", {"Accept": "application/json"}, nothing))
        assert server.turns[0].header("accept") == "application/json"


async def test_an_accepted_message_has_no_body(reach: Reach) -> None:
    async with answering(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n") as server:
        posted = await within(reach(server.url).post(b"{}", {}, nothing))
        assert (posted.status, posted.body) == (202, b"")


async def test_an_error_comes_back_with_its_body_and_headers(reach: Reach) -> None:
    answer = json_answer(b'{"error":1}', b"401 Unauthorized", b"www-authenticate: Bearer x\r\n")
    async with answering(answer) as server:
        posted = await within(reach(server.url).post(b"{}", {}, nothing))
        assert (posted.status, posted.body) == (401, b'{"error":1}')
        assert posted.headers["WWW-Authenticate"] == "Bearer x"


async def test_a_redirect_is_not_followed(reach: Reach) -> None:
    answer = json_answer(b"", b"307 Temporary Redirect", b"location: http://127.0.0.1:1/\r\n")
    async with answering(answer) as server:
        upstream = reach(server.url)
        for asked in (upstream.post(b"{}", {}, nothing), upstream.listen({}, nothing)):
            posted = await within(asked)
            assert (posted.status, posted.headers["location"]) == (307, "http://127.0.0.1:1/")
        assert len(server.turns) == 2


async def test_a_large_body_is_sent_whole(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        body = b"x" * (3 << 20)
        await within(reach(server.url).post(body, {}, nothing))
        assert server.turns[0].body == body


async def test_an_answer_may_be_compressed_against_our_wish(reach: Reach) -> None:
    packed = gzip.compress(b'{"a":1}')
    async with answering(json_answer(packed, b"200 OK", b"content-encoding: gzip\r\n")) as server:
        posted = await within(reach(server.url).post(b"{}", {}, nothing))
        assert posted.body == b'{"a":1}'


async def test_a_session_is_ended_with_delete(reach: Reach) -> None:
    async with answering(b"HTTP/1.1 204 No Content\r\n\r\n") as server:
        posted = await within(reach(server.url).delete({"Mcp-Session-Id": "s"}))
        assert posted.status == 204
        assert server.turns[0].head.startswith(b"DELETE /mcp HTTP/1.1\r\n")


async def test_one_connection_is_used_again(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        upstream = reach(server.url)
        for _ in range(3):
            await within(upstream.post(b"{}", {}, nothing))
        other = upstream.at(server.url.replace("/mcp", "/other"))
        await within(other.post(b"{}", {}, nothing))
        assert [turn.number for turn in server.turns] == [1, 2, 3, 4]
        assert server.turns[3].head.startswith(b"POST /other ")


async def test_no_cookie_is_kept(reach: Reach) -> None:
    async with answering(json_answer(b"{}", b"200 OK", b"set-cookie: a=b\r\n")) as server:
        upstream = reach(server.url)
        for _ in range(2):
            await within(upstream.post(b"{}", {}, nothing))
        assert server.turns[1].header("cookie") is None


async def test_no_proxy_is_taken_from_the_environment(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    async with answering(json_answer(b"{}")) as server:
        assert (await within(reach(server.url).post(b"{}", {}, nothing))).status == 200


# -- streams


async def test_messages_of_a_stream_arrive_while_it_streams(reach: Reach) -> None:
    go_on = asyncio.Event()

    async def script(turn: Turn) -> None:
        await turn.say(event_stream(b"id: 1\r\nretry: 250\r\ndata: one\r\n\r\n", end=False))
        await go_on.wait()
        await turn.say(b"1a\r\nid: 2\ndata: two\ndata: 2\n\n\r\n0\r\n\r\n")

    collector = Collector()
    opened: list[tuple[int, str]] = []
    async with ScriptedServer(script) as server:
        posting = asyncio.create_task(
            reach(server.url).post(
                b"{}",
                {},
                collector.message,
                on_open=lambda status, headers: opened.append((status, headers["mcp-session-id"])),
            )
        )
        assert await collector.count(1) == [b"one"]
        assert opened == [(200, "s1")]
        go_on.set()
        posted = await within(posting)
    assert collector.messages == [b"one", b"two\n2"]
    assert (posted.streamed, posted.body, posted.ended) == (True, None, "complete")
    assert (posted.last_event_id, posted.retry_ms) == ("2", 250)


async def test_events_that_are_no_messages_are_not_handed_on(reach: Reach) -> None:
    stream = event_stream(b"id: 7\ndata:\n\n", b": hi\n\n", b"event: ping\ndata: x\n\n")
    async with answering(stream) as server:
        posted = await within(reach(server.url).post(b"{}", {}, nothing))
        assert posted.last_event_id == "7"


async def test_a_stream_that_breaks_off_says_so_and_where(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(event_stream(b"id: 5\ndata: a\n\nid: 6\ndata: half", end=False))
        turn.writer.close()

    collector = Collector()
    async with ScriptedServer(script) as server:
        posted = await within(reach(server.url).post(b"{}", {}, collector.message))
    assert collector.messages == [b"a"]
    assert (posted.ended, posted.last_event_id, posted.streamed) == ("broken", "5", True)


async def test_listening_starts_where_it_broke_off(reach: Reach) -> None:
    collector = Collector()
    async with answering(event_stream(b"data: a\n\n")) as server:
        upstream = reach(server.url)
        await within(upstream.listen({"X-A": "b"}, collector.message, last_event_id="5"))
        await within(upstream.listen({}, collector.message))
        first, second = server.turns
    assert first.head.startswith(b"GET /mcp HTTP/1.1\r\n")
    assert first.header("accept") == "text/event-stream"
    assert (first.header("last-event-id"), first.header("x-a")) == ("5", "b")
    assert second.header("last-event-id") is None
    assert collector.messages == [b"a", b"a"]


async def test_listening_where_there_is_nothing_to_hear_returns_the_status(reach: Reach) -> None:
    async with answering(json_answer(b"{}", b"405 Method Not Allowed")) as server:
        posted = await within(reach(server.url).listen({}, nothing))
        assert (posted.status, posted.streamed) == (405, False)


async def test_an_event_stream_with_an_error_status_is_an_error_body(reach: Reach) -> None:
    async with answering(event_stream(b"data: x\n\n", status=b"500 Oops")) as server:
        posted = await within(reach(server.url).post(b"{}", {}, nothing))
        assert (posted.status, posted.body) == (500, b"data: x\n\n")


async def test_a_taker_that_raises_does_not_end_the_stream(
    reach: Reach, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[bytes] = []

    def take(message: bytes) -> None:
        seen.append(message)
        raise RuntimeError("no")

    async with answering(event_stream(b"data: a\n\ndata: b\n\n")) as server:
        posted = await within(reach(server.url).post(b"{}", {}, take))
    assert (seen, posted.ended) == ([b"a", b"b"], "complete")
    assert len(caplog.records) == 2


async def test_a_flood_of_events_leaves_turns_to_others(reach: Reach) -> None:
    collector = Collector()
    loop = asyncio.get_running_loop()
    most = before = 0

    def look() -> None:
        nonlocal most, before
        most = max(most, len(collector.messages) - before)
        before = len(collector.messages)
        if before < 20_000:
            loop.call_soon(look)

    look()
    async with answering(event_stream(b"data: x\n\n" * 20_000)) as server:
        limits = Limits(turn_messages=100)
        await within(reach(server.url, limits=limits).post(b"{}", {}, collector.message))
    assert len(collector.messages) == 20_000
    assert most <= 101


def test_events_that_say_nothing_leave_turns_to_others_as_well() -> None:
    """Nobody takes them, and reading them costs all the same: thirty thousand of them fit into one read."""
    chunk = b":\n\n" * 40_000
    fed = [len(one) for one in http_client._cut([chunk, b"", b"x"])]
    assert (sum(fed), max(fed)) == (len(chunk) + 1, http_client.EVENT_BYTES)

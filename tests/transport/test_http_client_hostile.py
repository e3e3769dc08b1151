"""Servers that do what servers may not, or may but seldom do, over real sockets."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import random

import pytest

from gatewright.transport.base import Limits
from gatewright.transport.http_client import (
    AnswerTooLarge,
    BadAnswer,
    CannotReach,
    ConnectionBroken,
)
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import (
    Reach,
    ScriptedServer,
    Turn,
    answering,
    event_stream,
    json_answer,
    nothing,
)

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"-1\r\nx\r\n",
        CHUNKED + b"g\r\nx\r\n",
        CHUNKED + b"11111111111111111\r\nx\r\n",
        CHUNKED + b"2\r\nxyz\r\n0\r\n\r\n",
        OK + b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        OK + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        OK + b"content-length: +2\r\n\r\n{}",
        OK + b"transfer-encoding: gzip\r\n\r\n{}",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n",
        b"HTTP/2.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        OK + b"x-a : b\r\ncontent-length: 2\r\n\r\n{}",
        OK + b"x-a: " + b"b" * 33_000 + b"\r\n\r\n",
        OK + b"x-a: b\r\n" * 5_000 + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 2_000 + b"HTTP",
    ],
    ids=lambda answer: answer[:80],
)
async def test_what_cannot_be_an_answer_is_refused_and_the_connection_closed(
    reach: Reach, answer: bytes
) -> None:
    async with answering(answer) as server:
        with pytest.raises(BadAnswer) as caught:
            await within(reach(server.url).post(b"{}", {}, nothing))
        assert caught.value.not_sent is False
        await within(server.lost.wait())


@pytest.mark.parametrize(
    ("opening", "again", "error"),
    [
        (OK, b"x-a: b\r\n" * 99, BadAnswer),
        (OK + b"x-a: ", b"b" * 999, BadAnswer),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n", BadAnswer),
        (CHUNKED + b"1;", b"a" * 999, BadAnswer),
        (CHUNKED + b"0\r\n", b"x-a: b\r\n" * 99, BadAnswer),
        (CHUNKED, b"63\r\n" + b"x" * 99 + b"\r\n", AnswerTooLarge),
        (OK + b"\r\n", b"x" * 99, AnswerTooLarge),
        (event_stream(end=False), b"63\r\n" + b"x" * 99 + b"\r\n", AnswerTooLarge),
    ],
    ids="headers header interim extension trailers chunks open event".split(),
)
async def test_an_answer_without_end_is_cut_off(
    reach: Reach, opening: bytes, again: bytes, error: type[Exception]
) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(opening)
        for _ in itertools.count():
            await turn.say(again)
            await asyncio.sleep(0)

    async with ScriptedServer(script) as server:
        upstream = reach(server.url, limits=Limits(frame_bytes=100_000))
        with pytest.raises(error):
            await within(upstream.post(b"{}", {}, nothing))
        await within(server.lost.wait())


async def test_answers_that_only_say_to_wait_are_passed_over(reach: Reach) -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"
    async with answering(interim + json_answer(b"{}")) as server:
        upstream = reach(server.url)
        for _ in range(2):
            posted = await within(upstream.post(b"{}", {}, nothing))
            assert (posted.status, posted.body, posted.headers.get("link")) == (200, b"{}", None)
        assert [turn.number for turn in server.turns] == [1, 2]


@pytest.mark.parametrize("status", [b"204 No Content", b"304 Not Modified"])
async def test_an_answer_that_has_no_body_leaves_the_connection_for_the_next(
    reach: Reach, status: bytes
) -> None:
    async with answering(b"HTTP/1.1 " + status + b"\r\n\r\n", json_answer(b"{}")) as server:
        upstream = reach(server.url)
        assert (await within(upstream.post(b"{}", {}, nothing))).body == b""
        assert (await within(upstream.post(b"{}", {}, nothing))).body == b"{}"
        assert [turn.number for turn in server.turns] == [1, 2]


@pytest.mark.parametrize(
    "answer",
    [
        json_answer(b"{}", b"200 OK", b"connection: close\r\n"),
        json_answer(b"{}") + b"surplus",
        json_answer(b"{}") + json_answer(b"[]"),
        b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}",
        json_answer(b"{}", b"200 OK", b"connection: close\r\n") + json_answer(b"[]"),
    ],
    ids=["close", "surplus", "another", "old", "another after close"],
)
async def test_a_connection_that_may_not_stand_between_two_answers_is_not_used_again(
    reach: Reach, answer: bytes
) -> None:
    async with answering(answer) as server:
        upstream = reach(server.url)
        for _ in range(2):
            assert (await within(upstream.post(b"{}", {}, nothing))).body == b"{}"
            await within(server.lost.wait())
            server.lost.clear()
        assert [turn.number for turn in server.turns] == [1, 1]


async def test_a_server_that_says_goodbye_behind_its_answer_is_believed(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"{}") if turn.body == b"1" else OK + b"\r\n{}")
        turn.writer.write_eof()
        await turn.gone()

    async with ScriptedServer(script) as server:
        upstream = reach(server.url)
        for body in (b"1", b"2", b"1"):
            assert (await within(upstream.post(body, {}, nothing))).body == b"{}"
            await within(server.lost.wait())
            server.lost.clear()
        assert [turn.number for turn in server.turns] == [1, 1, 1]


@pytest.mark.parametrize(
    "said", [b"", b"HTTP/1.1 2", json_answer(b"{}")[:-1], CHUNKED + b"2\r\n{}"]
)
async def test_a_server_that_says_goodbye_before_its_answer_is_whole_broke_it_off(
    reach: Reach, said: bytes
) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(said)
        turn.writer.write_eof()
        await turn.gone()

    async with ScriptedServer(script) as server:
        with pytest.raises(ConnectionBroken) as caught:
            await within(reach(server.url).post(b"{}", {}, nothing))
        assert caught.value.not_sent is False
        await within(server.lost.wait())


async def test_one_byte_of_an_answer_on_a_kept_connection_proves_that_it_was_asked(
    reach: Reach,
) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"{}") if turn.number == 1 else b"H")
        if turn.number > 1:
            turn.writer.close()

    async with ScriptedServer(script) as server:
        upstream = reach(server.url)
        await within(upstream.post(b"{}", {}, nothing))
        with pytest.raises(ConnectionBroken) as caught:
            await within(upstream.post(b"{}", {}, nothing))
        assert caught.value.not_sent is False


async def test_an_answer_may_come_before_the_request_was_read(reach: Reach) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(json_answer(b"{}", b"413 Content Too Large"))
        await asyncio.wait([asyncio.ensure_future(done.wait())])
        writer.transport.abort()

    done = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    upstream = reach(f"http://127.0.0.1:{port}/")
    posted = await within(upstream.post(b"x" * (32 << 20), {}, nothing))
    assert (posted.status, posted.body) == (413, b"{}")
    done.set()
    await upstream.close()
    server.close()
    await within(server.wait_closed())


async def test_a_large_request_leaves_the_connection_for_the_next(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        upstream = reach(server.url)
        for _ in range(2):
            await within(upstream.post(b"x" * (8 << 20), {}, nothing))
        assert [turn.number for turn in server.turns] == [1, 2]


async def test_little_that_unpacks_to_much_leaves_turns_to_others(reach: Reach) -> None:
    packed = gzip.compress(b": nothing\n" * 200_000 + b"data: a\n\n")
    head = b"content-type: text/event-stream\r\ncontent-encoding: gzip\r\n"
    answer = OK + head + b"content-length: %d\r\n\r\n" % len(packed) + packed
    collector = Collector()
    turns = 0

    async def count() -> None:
        nonlocal turns
        while not collector.messages:
            turns += 1
            await asyncio.sleep(0)

    async with answering(answer) as server:
        counting = asyncio.ensure_future(count())
        upstream = reach(server.url, limits=Limits(turn_bytes=100_000))
        posted = await within(upstream.post(b"{}", {}, collector.message))
        await within(counting)
    assert (posted.ended, collector.messages) == ("complete", [b"a"])
    assert turns >= 10, "two megabytes are twenty times what one turn may look at"


async def test_what_a_stream_said_before_it_stopped_making_sense_was_said(reach: Reach) -> None:
    collector = Collector()
    stream = event_stream(b"id: 3\ndata: a\n\n", end=False) + b"no chunk\r\n"
    async with answering(stream) as server:
        posted = await within(reach(server.url).post(b"{}", {}, collector.message))
    assert (posted.ended, posted.last_event_id) == ("broken", "3")
    assert collector.messages == [b"a"]


async def test_many_requests_and_cancellations_leave_every_answer_with_its_request(
    reach: Reach,
) -> None:
    dice = random.Random(7)

    async def script(turn: Turn) -> None:
        answer = json_answer(turn.body)
        middle = dice.randrange(len(answer))
        await turn.say(answer[:middle])
        await asyncio.sleep(0)
        await turn.say(answer[middle:])

    async with ScriptedServer(script) as server:
        upstream = reach(server.url)

        async def post(number: int) -> bool:
            body = b"%d" % number
            task = asyncio.ensure_future(upstream.post(body, {}, nothing))
            if number % 3 == 0:
                for _ in range(dice.randrange(12)):
                    await asyncio.sleep(0)
                task.cancel()
            try:
                return (await within(task)).body == body
            except asyncio.CancelledError:
                return number % 3 == 0

        async def some(start: int) -> list[bool]:
            return [await post(number) for number in range(start, 320, 16)]

        found = await within(asyncio.gather(*(some(start) for start in range(16))))
        assert all(itertools.chain(*found))


async def test_the_url_of_another_server_is_not_asked_over_this_ones_connections(
    reach: Reach,
) -> None:
    upstream = reach("http://127.0.0.1:1/")
    with pytest.raises(ValueError, match="another server"):
        upstream.at("http://127.0.0.1:2/")


async def test_a_closed_upstream_asks_nothing(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        upstream = reach(server.url)
        await upstream.close()
        with pytest.raises(CannotReach) as caught:
            await within(upstream.post(b"{}", {}, nothing))
        assert caught.value.not_sent is True
        assert server.turns == []

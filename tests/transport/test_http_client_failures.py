from __future__ import annotations

import asyncio
import gzip
import ssl
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.transport.http_client import (
    AnswerTooLarge,
    BadAnswer,
    CannotDial,
    CannotReach,
    ConnectionBroken,
    HttpUpstream,
    Posted,
    TimedOut,
)
from gatewright.transport.http_server import serve
from tests.transport.asgi import echo
from tests.transport.certificate import make_certificate
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

# -- limits


@pytest.mark.parametrize(
    "answer",
    [
        json_answer(b"x" * 1001),
        b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n" + b"x" * 1001,
        event_stream(b"data: " + b"x" * 1001, end=False),
        json_answer(gzip.compress(b"x" * 1_000_000), b"200 OK", b"content-encoding: gzip\r\n"),
    ],
    ids=["declared", "undeclared", "event", "bomb"],
)
async def test_an_answer_over_the_limit_is_refused_and_the_connection_closed(
    reach: Reach, answer: bytes
) -> None:
    async with answering(answer) as server:
        upstream = reach(server.url, limits=Limits(frame_bytes=1000))
        with pytest.raises(AnswerTooLarge, match=r"more than 1000|longer than 1000") as caught:
            await within(upstream.post(b"{}", {}, nothing))
        assert caught.value.not_sent is False
        await within(server.lost.wait())


async def test_an_answer_of_exactly_the_limit_passes(reach: Reach) -> None:
    async with answering(json_answer(b"x" * 1000)) as server:
        upstream = reach(server.url, limits=Limits(frame_bytes=1000))
        assert (await within(upstream.post(b"{}", {}, nothing))).body == b"x" * 1000


async def test_an_answer_that_does_not_come_runs_out_of_time(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        half = {
            b"1": b"",
            b"2": json_answer(b"x" * 100)[:-50],
            b"3": event_stream(b"data: a\n\n", end=False),
        }
        await turn.say(half[turn.body])
        await turn.gone()

    collector = Collector()
    async with ScriptedServer(script) as server:
        for body in (b"1", b"2", b"3"):
            with pytest.raises(TimedOut) as caught:
                await within(reach(server.url).post(body, {}, collector.message, timeout=0.1))
            assert caught.value.not_sent is False
            await within(server.lost.wait())
            server.lost.clear()
    assert collector.messages == [b"a"]


async def test_a_cancelled_request_closes_its_connection_at_once(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(event_stream(b"data: a\n\n", end=False))

    collector = Collector()
    async with ScriptedServer(script) as server:
        posting = asyncio.create_task(reach(server.url).post(b"{}", {}, collector.message))
        await collector.count(1)
        posting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await posting
        await within(server.lost.wait())


# -- failures, and whether the server may have acted


async def not_sent(posting: Any) -> tuple[type[Exception], bool | None]:
    """How a request failed, and whether it surely did not leave."""
    with pytest.raises((CannotReach, ConnectionBroken, BadAnswer, TimedOut)) as caught:
        await within(posting)
    return type(caught.value), caught.value.not_sent


async def test_a_server_that_is_not_there_got_nothing(reach: Reach) -> None:
    upstream = reach(f"http://127.0.0.1:{free_port()}/secret")
    assert await not_sent(upstream.post(b"{}", {}, nothing)) == (CannotReach, True)
    upstream = reach("http://no-such-host.invalid/")
    assert await not_sent(upstream.post(b"{}", {}, nothing)) == (CannotDial, True)


async def test_a_request_that_cannot_be_written_was_not_sent(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        bad = {"X-A": "secret\r\nX-B: c"}
        assert await not_sent(reach(server.url).post(b"{}", bad, nothing)) == (CannotReach, True)
        assert server.turns == []


async def test_a_server_that_hangs_up_on_a_new_connection_may_have_acted(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        turn.reset()

    async with ScriptedServer(script) as server:
        asked = reach(server.url).post(b"{}", {}, nothing)
        assert await not_sent(asked) == (ConnectionBroken, False)


async def test_a_server_that_hangs_up_on_a_kept_connection_leaves_it_unknown(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        if turn.number == 1:
            await turn.say(json_answer(b"{}"))
        else:
            turn.reset()

    async with ScriptedServer(script) as server:
        upstream = reach(server.url)
        await within(upstream.post(b"{}", {}, nothing))
        assert await not_sent(upstream.post(b"{}", {}, nothing)) == (ConnectionBroken, None)
        assert len(server.turns) == 2, "a POST is never repeated by itself"


async def test_a_server_that_hangs_up_in_the_middle_has_acted(reach: Reach) -> None:
    async def script(turn: Turn) -> None:
        await turn.say(json_answer(b"x" * 100)[:-50])
        turn.writer.close()

    async with ScriptedServer(script) as server:
        asked = reach(server.url).post(b"{}", {}, nothing)
        assert await not_sent(asked) == (ConnectionBroken, False)


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
        json_answer(b"not gzip", b"200 OK", b"content-encoding: gzip\r\n"),
    ],
)
async def test_what_is_not_http_is_a_bad_answer(reach: Reach, answer: bytes) -> None:
    async with answering(answer) as server:
        asked = reach(server.url).post(b"{}", {}, nothing)
        assert await not_sent(asked) == (BadAnswer, False)


async def test_a_connection_idle_for_long_is_not_used_again(reach: Reach) -> None:
    async with answering(json_answer(b"{}")) as server:
        upstream = reach(server.url, keep_alive_s=0.05)
        await within(upstream.post(b"{}", {}, nothing))
        await within(server.lost.wait())
        await within(upstream.post(b"{}", {}, nothing))
        assert [turn.number for turn in server.turns] == [1, 1]


async def test_no_error_tells_a_path_a_query_or_a_header(reach: Reach) -> None:
    upstream = reach(f"http://127.0.0.1:{free_port()}/path-secret?key=query-secret")
    with pytest.raises(CannotReach) as caught:
        await within(upstream.post(b"{}", {"Authorization": "Bearer header-secret"}, nothing))
    assert "secret" not in str(caught.value)
    assert str(caught.value).startswith(upstream.origin)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize("url", ["ftp://a/", "/mcp", "http://", "not a url"])
async def test_an_upstream_needs_an_http_url(url: str) -> None:
    with pytest.raises(ValueError, match="begins with http"):
        HttpUpstream(url)


async def test_certificates_are_verified_unless_told_otherwise(
    reach: Reach, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    server = await serve(echo, certificate=str(certificate), key=str(key))
    try:
        with pytest.raises(CannotReach, match="certificate is not trusted") as caught:
            await within(reach(server.url).post(b"{}", {}, nothing))
        assert caught.value.not_sent is True
        trust = ssl.create_default_context(cafile=str(certificate))
        for tls in (trust, False):
            upstream = reach(server.url, tls=tls)
            assert (await within(upstream.post(b"{}", {}, nothing))).body == b"{}"
            await upstream.close()
    finally:
        await within(server.stop(0))


async def test_sixty_four_requests_run_side_by_side(reach: Reach) -> None:
    together = asyncio.Event()

    async def script(turn: Turn) -> None:
        if len(server.turns) == 64:
            together.set()
        await within(together.wait())
        await turn.say(json_answer(turn.body))

    async with ScriptedServer(script) as server:
        upstream = reach(server.url, limits=FROM_SERVERS)
        posted: list[Posted] = await within(
            asyncio.gather(*(upstream.post(b"%d" % n, {}, nothing) for n in range(64)))
        )
        assert [one.body for one in posted] == [b"%d" % n for n in range(64)]

"""One answer over HTTP: plain until something goes before it, and never longer than its client reads."""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.protocol.replay import Streams
from gatewright.mcp.server import http_reply
from gatewright.mcp.server.http_reply import HttpReply, StreamWriter, one_line
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.base import Limits
from gatewright.web.sse import SseEvent, SseParser
from tests.dialects.client import within

DONE = Spelled(b'{"n":1}')
EVENT = b'{"jsonrpc":"2.0","method":"x"}'
FRAME = b'{"jsonrpc":"2.0","id":7,"result":{"n":1}}'


class Asgi:
    """The other end of `send`; takes messages while `reading` is set."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.reading = asyncio.Event()
        self.reading.set()
        self.problem: Exception | None = None

    async def send(self, message: dict[str, Any]) -> None:
        await self.reading.wait()
        if self.problem is not None:
            raise self.problem
        self.messages.append(message)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    @property
    def events(self) -> list[SseEvent]:
        return SseParser(1 << 26).feed(self.body)

    @property
    def ended(self) -> bool:
        """Whether the last piece was the last."""
        return not self.messages[-1].get("more_body", False)


def reply(end: Asgi, **options: Any) -> HttpReply:
    return HttpReply(end.send, **({"readable": True, "limit_bytes": 1000} | options))


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


# -- whole responses


async def test_a_plain_answer_takes_two_messages() -> None:
    end = Asgi()
    await reply(end, headers=((b"mcp-session-id", b"s"),)).finish(b"7", DONE)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(FRAME)),
        (b"mcp-session-id", b"s"),
    ]
    assert end.messages == [
        {"type": "http.response.start", "status": 200, "headers": headers},
        {"type": "http.response.body", "body": FRAME},
    ]


async def test_the_status_goes_with_a_plain_error_alone() -> None:
    plain, streamed = Asgi(), Asgi()
    refused = Spelled(error=b'{"code":1,"message":""}', http=404)
    await reply(plain).finish(b"7", refused)
    stream = reply(streamed)
    stream.event(EVENT)
    await stream.finish(b"7", refused)
    assert (plain.messages[0]["status"], streamed.messages[0]["status"]) == (404, 200)
    assert [jsonrpc.decode(one.data) for one in streamed.events] == [
        jsonrpc.decode(EVENT),
        {"jsonrpc": "2.0", "id": 7, "error": {"code": 1, "message": ""}},
    ]


async def test_an_answer_is_given_once() -> None:
    end = Asgi()
    one = reply(end)
    await one.finish(b"7", DONE)
    await one.finish(b"7", DONE)
    await one.abandon(b"7")
    one.event(EVENT)
    one.reconnect(5)
    assert len(end.messages) == 2


async def test_an_error_of_no_request_has_no_id_in_the_modern_revision() -> None:
    for modern, expected in ((True, ["error", "jsonrpc"]), (False, ["error", "id", "jsonrpc"])):
        end = Asgi()
        error = Spelled(error=b'{"code":-32700,"message":""}', http=400)
        await reply(end, modern=modern).finish(b"null", error)
        assert sorted(jsonrpc.decode(end.body)) == expected


async def test_a_cancelled_request_ends_with_an_error() -> None:
    end = Asgi()
    await reply(end).abandon(b"7")
    error = {"code": -32800, "message": "the request was cancelled"}
    assert jsonrpc.decode(end.body) == {"jsonrpc": "2.0", "id": 7, "error": error}


async def test_line_breaks_of_a_message_do_not_break_its_event() -> None:
    pretty = b'{\n  "a":\r\n 1\n}'
    assert jsonrpc.decode(one_line(pretty)) == {"a": 1}
    assert one_line(FRAME) is FRAME
    end = Asgi()
    stream = reply(end)
    stream.event(pretty)
    await stream.finish(b"7", DONE)
    lines = [line for line in end.body.split(b"\n") if line.startswith(b"data:")]
    assert [jsonrpc.decode(line[5:]) for line in lines] == [{"a": 1}, jsonrpc.decode(FRAME)]


async def test_events_that_nobody_can_read_are_dropped_or_go_aside() -> None:
    end, streams = Asgi(), Streams(1000)
    await _quietly(reply(end, readable=False))
    assert end.messages[0]["headers"][0] == (b"content-type", b"application/json")
    await _quietly(reply(Asgi(), readable=False, streams=streams))
    found = streams.find("0-0")
    assert found is not None
    kept: list[bytes] = []
    found[0].attach(lambda _, message: kept.append(message), 0)
    assert kept == [EVENT]


async def test_a_question_is_taken_back_before_the_answer_beside_it_and_behind_it_elsewhere() -> (
    None
):
    end, streams = Asgi(), Streams(1000)
    one = reply(end, streams=streams)
    one.recall(EVENT)
    await one.finish(b"7", DONE)
    one.recall(b'{"jsonrpc":"2.0","method":"behind"}')
    assert b'"x"' in end.body
    assert b"behind" not in end.body
    found = streams.find("0-0")
    assert found is not None
    kept: list[bytes] = []
    found[0].attach(lambda _, message: kept.append(message), 0)
    assert kept == [b'{"jsonrpc":"2.0","method":"behind"}']


async def _quietly(one: HttpReply) -> None:
    one.event(EVENT)
    one.reconnect(5)
    await one.finish(b"7", DONE)


async def test_a_finished_answer_lets_its_stream_go() -> None:
    streams = Streams(1000, limit_streams=3)
    for _ in range(10):
        stream = reply(Asgi(), streams=streams)
        stream.event(EVENT)
        await stream.finish(b"7", DONE)
    kept = [ident for ident in range(12) if streams.find(f"{ident:x}-0") is not None]
    assert kept == [0, 9, 10]


# -- the writer of an event stream


async def test_a_stream_begins_before_there_is_anything_to_say() -> None:
    end = Asgi()
    writer = StreamWriter(end.send, 1000, ((b"x", b"y"),))
    writer.start()
    await eventually(lambda: len(end.messages) == 2)
    names = [name for name, _ in end.messages[0]["headers"]]
    assert names == [b"content-type", b"cache-control", b"x-accel-buffering", b"x"]
    assert (end.body, end.ended) == (b"", False)
    writer.end()
    await within(writer.closed())
    assert end.ended


async def test_a_stream_that_begins_late_is_for_silence_and_holds_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_reply, "_KEEP_ALIVE_S", 0.01)
    loop, end, quick = asyncio.get_running_loop(), Asgi(), Asgi()
    one = reply(end, streams=Streams(1000), primed=True)
    one.commit_later(loop)
    assert end.messages == []
    await eventually(lambda: bool(end.messages))
    assert (b"content-type", b"text/event-stream") in end.messages[0]["headers"]
    await one.finish(b"7", DONE)
    done = reply(quick, streams=Streams(1000), primed=True)
    done.commit_later(loop)
    held = weakref.ref(done)
    await done.finish(b"7", DONE)
    del done
    assert held() is None
    await asyncio.sleep(0.03)
    assert quick.body == FRAME


async def test_what_was_put_before_the_end_is_written() -> None:
    end = Asgi()
    writer = StreamWriter(end.send, 1000)
    for number in range(5):
        writer.put(b"%d" % number)
    writer.end()
    writer.put(b"late")
    await within(writer.closed())
    assert (end.body, end.ended) == (b"01234", True)


async def test_who_never_began_has_nothing_to_wait_for() -> None:
    writer = StreamWriter(Asgi().send, 1000)
    writer.end()
    await within(writer.closed())
    writer.cut()


async def test_an_idle_stream_is_kept_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_reply, "_KEEP_ALIVE_S", 0.005)
    end = Asgi()
    writer = StreamWriter(end.send, 1000)
    writer.start()
    await eventually(lambda: end.body.count(b": still here\n\n") >= 2)
    assert end.events == []
    writer.end()
    await within(writer.closed())


async def test_a_burst_is_not_slowness() -> None:
    """A client may read quickly and yet have had no turn."""
    end = Asgi()
    writer = StreamWriter(end.send, 1000)
    for _ in range(100):
        writer.put(b"x" * 1000)
    writer.end()
    await within(writer.closed())
    assert len(end.body) == 100_000


async def test_a_client_that_does_not_read_is_cut_and_nobody_waits_for_it() -> None:
    end, other, cut = Asgi(), Asgi(), asyncio.Event()
    end.reading.clear()
    writer = StreamWriter(end.send, 1 << 20, cut=cut.set)
    healthy = StreamWriter(other.send, 1 << 20)
    for _ in range(20):
        writer.put(b"x" * (1 << 20))
        healthy.put(b"y" * (1 << 20))
        await asyncio.sleep(0)
    assert cut.is_set()
    assert writer.waiting == 0, (
        "what nobody takes any more would hold back what comes on another connection"
    )
    await within(writer.closed())
    assert end.messages == []
    healthy.end()
    await within(healthy.closed())
    assert len(other.body) == 20 << 20


async def test_a_client_that_takes_too_little_for_too_long_is_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hurried(**more: Any) -> Limits:
        return Limits(patience_s=0.01, **more)

    monkeypatch.setattr(http_reply, "Limits", hurried)
    end, cut = Asgi(), asyncio.Event()
    end.reading.clear()
    writer = StreamWriter(end.send, 1000, cut=cut.set)
    for _ in range(4):
        writer.put(b"x" * 1000)
    await within(cut.wait())
    await within(writer.closed())


async def test_what_a_cut_client_is_owed_waits_in_its_session() -> None:
    end, streams = Asgi(), Streams(100_000)
    end.reading.clear()
    stream = reply(end, streams=streams, limit_bytes=1 << 10)
    for _ in range(18):
        stream.event(b'"%b"' % (b"x" * (1 << 20)))
    await within(stream.finish(b"7", DONE))
    found = streams.find("1-18")
    assert found is not None
    kept: list[bytes] = []
    found[0].attach(lambda _, message: kept.append(message), found[1])
    assert kept == [FRAME]


async def test_a_writer_that_is_cancelled_while_there_is_more_to_write_ends() -> None:
    end = Asgi()
    writer = StreamWriter(end.send, 1000)
    before = asyncio.all_tasks()
    writer.start()
    await eventually(lambda: len(end.messages) == 2)
    [task] = asyncio.all_tasks() - before
    writer.put(b"x")
    await asyncio.sleep(0)  # the writer has been woken, and has not run
    task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.cancelled()


async def test_a_client_that_is_gone_costs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    end = Asgi()
    end.problem = OSError("the connection is closed")
    stream = reply(end)
    stream.event(EVENT)
    await within(stream.finish(b"7", DONE))
    assert caplog.records == []


async def test_a_defect_of_the_server_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    end = Asgi()
    end.problem = RuntimeError("not as agreed")
    stream = reply(end)
    stream.event(EVENT)
    await within(stream.finish(b"7", DONE))
    assert [record.levelno for record in caplog.records] == [logging.ERROR]

"""The stream that is no request's: when it is asked for again, from where, and when no more."""

from __future__ import annotations

import asyncio
import json

import pytest

from gatewright.mcp.client import unsolicited_stream
from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.unsolicited_stream import Pauses, follow_unsolicited
from gatewright.transport.base import Limits
from gatewright.transport.http_client import HttpUpstream
from tests.servers.rig import within
from tests.servers.web import Site, site


def test_a_stream_that_ends_at_once_and_brings_nothing_is_asked_for_ever_more_seldom() -> None:
    pauses = Pauses()
    assert [pauses.ended(0) for _ in range(6)] == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    pauses.hearing(lambda data: None)(b"x")
    assert [pauses.ended(0), pauses.ended(None), pauses.ended(2000)] == [0.1, 1.0, 2.0]
    assert [pauses.ended(0), pauses.ended(10**9 - 1)] == [1.0, 300.0]


def test_a_stream_that_does_not_come_about_is_asked_for_ever_more_seldom() -> None:
    pauses = Pauses()
    assert [pauses.failed() for _ in range(4)] == [0.2, 0.4, 0.8, 1.6]
    assert [pauses.failed() for _ in range(6)][-1] == 30.0


def following(
    server: Site, heard: list[int], monkeypatch: pytest.MonkeyPatch
) -> asyncio.Task[None]:
    """What is said on the stream of a server is `heard`; its pauses are short."""
    monkeypatch.setattr(unsolicited_stream, "_LEAST_S", 0.001)
    monkeypatch.setattr(unsolicited_stream, "_FAILED_MOST_S", 0.01)
    wire = HttpEndpoint(HttpUpstream(server.url, limits=Limits(frame_bytes=10_000)), {})

    async def follow() -> None:
        try:
            await follow_unsolicited(wire, lambda data: heard.append(json.loads(data)["id"]))
        finally:
            await wire.close()

    return asyncio.ensure_future(follow())


@pytest.mark.parametrize("status", [200, 400, 406, 408, 409, 425, 429, 500, 502, 503, 504])
async def test_trouble_ends_no_stream_for_good(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """409 is what is said as long as the stream before is not known to have ended: questions were never heard of again."""
    async with site() as server:
        heard: list[int] = []
        following_it = following(server, heard, monkeypatch)
        (await server.next("GET")).say(status)
        stream = await server.next("GET")
        stream.stream()
        stream.event({"id": 1, "method": "ping"})
        stream.end()
        await server.next("GET")
        assert heard == [1]
        following_it.cancel()


@pytest.mark.parametrize("status", [401, 403, 404, 405, 501])
async def test_a_server_that_has_no_stream_is_not_asked_for_it_again(
    status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site() as server:
        following_it = following(server, [], monkeypatch)
        (await server.next("GET")).say(status)
        await within(following_it)
        assert server.idle()


@pytest.mark.parametrize("ident", ["e7", ""])
async def test_what_was_said_before_something_too_long_is_not_said_again(
    ident: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question was put to whoever was at work by then, again and again."""
    async with site() as server:
        heard: list[int] = []
        following_it = following(server, heard, monkeypatch)
        first = await server.next("GET")
        first.stream()
        first.event({"id": 5, "method": "ping"}, ident="e5")
        first.end()
        again = await server.next("GET")
        assert again.headers["last-event-id"] == "e5"
        again.stream()
        again.event({"id": 6, "method": "ping"}, ident="e6")
        again.event({"id": 7, "method": "-" * 20_000}, ident=ident)
        later = await server.next("GET")
        assert later.headers.get("last-event-id", "") == ident
        assert heard == [5, 6]
        following_it.cancel()


async def test_a_refusal_that_is_too_long_changes_nothing_of_where_the_stream_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with site() as server:
        following_it = following(server, [], monkeypatch)
        first = await server.next("GET")
        first.stream()
        first.event(ident="e5")
        first.end()
        (await server.next("GET")).say(503, b"-" * 20_000)
        assert (await server.next("GET")).headers["last-event-id"] == "e5"
        following_it.cancel()


@pytest.mark.parametrize(
    ("status", "later"), [(400, None), (500, None), (409, "e5"), (429, "e5"), (503, "e5")]
)
async def test_an_event_that_the_server_does_not_know_is_not_asked_for_again(
    status: int, later: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream was refused for ever for its sake."""
    async with site() as server:
        following_it = following(server, [], monkeypatch)
        first = await server.next("GET")
        first.stream()
        first.event(ident="e5")
        first.end()
        again = await server.next("GET")
        assert again.headers["last-event-id"] == "e5"
        again.say(status)
        assert (await server.next("GET")).headers.get("last-event-id") == later
        following_it.cancel()

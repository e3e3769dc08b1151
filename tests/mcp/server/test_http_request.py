"""What an HTTP request may look like, and how it is refused."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import ANONYMOUS
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection, HttpRequest, nowhere
from gatewright.mcp.server.kept_answers import of_server
from gatewright.transport.http_server import read_body
from tests.dialects.client import MODERN, Sent, modern, rpc, within
from tests.dialects.house import House, text
from tests.dialects.steps import CALL

PING = rpc("ping", None, 1)
refusals: list[tuple[Any, ...]] = []


JSON = (b"content-type", b"application/json")


def request(*headers: tuple[bytes, bytes], receive: Any = None) -> tuple[HttpRequest, list[Any]]:
    sent: list[Any] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "headers": list(headers)}
    http = HttpRequest(
        *Connection(scope, receive, send),
        HttpHeaders(headers),
        ANONYMOUS,
        "",
        lambda *told: refusals.append(told),
    )
    return http, sent


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        (None, 415),
        ("text/plain", 415),
        ("application/json-patch+json", 415),
        ("application/jsonx", 415),
        ("", 415),
        ("multipart/form-data; boundary=application/json", 415),
    ],
)
async def test_a_message_is_sent_as_json(kind: str | None, status: int) -> None:
    async with House() as house:
        answered = await house.post(PING, headers={"content-type": kind})
        assert answered.status == status


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json, text/event-stream", 200),
        ("text/event-stream, application/json", 200),
        ("APPLICATION/JSON", 200),
        ("*/*", 200),
        ("application/*;q=0.5", 200),
        (None, 200),
        ("text/html", 406),
        ("", 406),
    ],
)
async def test_an_answer_is_something_the_client_accepts(accept: str | None, status: int) -> None:
    async with House() as house:
        assert (await house.post(PING, headers={"accept": accept})).status == status


async def test_who_accepts_nothing_we_say_learns_what_to_accept() -> None:
    async with House() as house:
        answered = await house.post(PING, headers={"accept": "text/html"})
        assert answered.json == {
            "jsonrpc": "2.0",
            "id": None,
            "error": {"code": -32600, "message": "accept application/json and text/event-stream"},
        }


async def test_a_body_has_a_limit_and_one_byte_less_is_served() -> None:
    async with House(frame_bytes=1000) as house:
        for size, status in ((1000, 200), (1001, 413)):
            body = PING.ljust(size)
            assert len(body) == size
            assert (await house.post(body)).status == status
        sent = modern("tools/call", {**CALL, "pad": "x" * 1000})
        refused = await house.post(sent)
        assert (refused.status, sorted(refused.json)) == (413, ["error", "jsonrpc"])


async def test_a_body_that_does_not_come_in_time_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def impatient(receive: Any, limit: int) -> bytes:
        return await read_body(receive, limit, 0.01)

    async def receive() -> dict[str, Any]:
        if pieces:
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}
        await asyncio.get_running_loop().create_future()
        raise AssertionError

    monkeypatch.setattr("gatewright.mcp.server.http_request.read_body", impatient)
    pieces = [b"{"]
    http, sent = request(JSON, (b"mcp-protocol-version", MODERN.encode()), receive=receive)
    assert await within(http.body(100)) is None
    assert sent[0]["status"] == 408
    assert b'"id"' not in sent[1]["body"]


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_not_answered() -> None:
    async def receive() -> dict[str, Any]:
        return pieces.pop(0)

    pieces: list[dict[str, Any]] = [
        {"type": "http.request", "body": b"{", "more_body": True},
        {"type": "http.disconnect"},
    ]
    http, sent = request(JSON, receive=receive)
    assert await within(http.body(100)) is None
    assert sent == []


async def test_only_routing_headers_must_not_stand_twice() -> None:
    twice = {b"accept": None, b"mcp-name": "mcp-name appears more than once"}
    twice[b"mcp-param-x"] = "mcp-param-x appears more than once"
    for name, flaw in twice.items():
        http, _ = request((name, b"1"), (b"host", b"x"), (name, b"1"))
        assert http.headers.duplicated() == flaw
    assert request((b"mcp-name", b"1"))[0].headers.duplicated() is None


async def test_a_request_that_stands_alone_has_no_other_channel() -> None:
    nowhere(b"lost", of_server("srv"))
    async with House() as house:
        http, _ = request()
        peer = http.peer(house.front, house.app.streamable.parked)
        assert peer.session is None
        assert house.front.owners == {}


async def test_a_refusal_is_told_with_who_was_refused_and_why() -> None:
    http, _ = request()
    await http.refuse(400, "no such thing", -32600)
    assert refusals[-1] == (ANONYMOUS, "http", -32600, "no such thing")


async def test_headers_of_mcp_are_read_as_text() -> None:
    http, _ = request((b"mcp-name", b"\xfc"), (b"accept", b"application/json"))
    assert http.headers.routing() == {"mcp-name": "ü"}
    assert (
        http.headers.text(b"mcp-name"),
        http.headers.text(b"missing"),
        http.headers.reads_streams,
    ) == (
        "ü",
        "",
        False,
    )


@pytest.mark.parametrize("body", [b"", b"nonsense", b"{", b"\xff\xfe", b'{"jsonrpc":"1.0"}', b"7"])
async def test_what_is_no_message_is_refused_in_both_eras(body: bytes) -> None:
    async with House() as house:
        house.script.does("echo", text("never"))
        for headers in ({}, {"mcp-protocol-version": MODERN, "mcp-method": "x"}):
            answered = await house.post(Sent(body, headers))
            assert answered.status == 400
            assert answered.json["error"]["code"] in (-32700, -32600)

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect as dial
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from gatewright.transport.base import FROM_SERVERS, Closed
from gatewright.transport.websocket import CannotConnect, closing_reason, connect, refuse
from tests.transport.certificate import make_certificate
from tests.transport.collecting import Collector, within
from tests.transport.sockets import Open, client, nobody_left


async def test_messages_go_there_and_back_in_order(door: Open) -> None:
    at = await door()
    pipe, collector = await client(at)
    sent = [b'{"id":%d,"text":"\xc3\xa4"}' % number for number in range(2000)]
    for message in sent:
        pipe.send(message)
    assert await collector.count(len(sent)) == sent
    pipe.close()
    assert await collector.end() == "closed"


async def test_a_large_message_goes_through_whole(door: Open) -> None:
    at = await door(limits=FROM_SERVERS)
    pipe, collector = await client(at)
    message = b"x" * (8 << 20)
    pipe.send(message)
    assert await collector.count(1) == [message]
    pipe.close()


async def test_closing_at_the_client_ends_both_after_the_last_message(door: Open) -> None:
    at = await door(echo=False)
    pipe, collector = await client(at)
    pipe.send(b"last")
    pipe.close()
    pipe.close()
    with pytest.raises(Closed, match="closed"):
        pipe.send(b"late")
    assert await within(pipe.wait_closed()) == "closed"
    assert await at.collector.end() == "closed by the peer"
    assert at.collector.messages == [b"last"]
    assert (at.reasons, collector.ends) == (["closed by the peer"], ["closed"])


async def test_closing_at_the_server_ends_both_after_the_last_message(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    at.pipe.send(b"last")
    at.pipe.close()
    assert await collector.end() == "closed by the peer"
    assert collector.messages == [b"last"]
    assert await within(at.pipe.wait_closed()) == "closed"
    with pytest.raises(Closed, match="closed"):
        at.pipe.send(b"late")


async def test_a_client_that_vanishes_ends_the_pipe_without_an_error_in_the_log(
    door: Open, caplog: pytest.LogCaptureFixture
) -> None:
    at = await door(echo=False)
    pipe, _ = await client(at)
    pipe._connection.transport.abort()
    assert await at.collector.end() == "closed by the peer"
    await nobody_left(at.server)
    assert caplog.records == []


async def test_bytes_that_are_not_utf8_are_sent_as_a_whole_frame_all_the_same(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    at.pipe.send(b'"\xff"')
    assert await collector.count(1) == ['"\ufffd"'.encode()]
    at.pipe.close()


async def test_an_upgrade_is_refused_with_a_status_and_a_body(door: Open) -> None:
    async def closed(scope: Any, receive: Any, send: Any) -> None:
        await refuse(receive, send, 401, b'{"no":1}', ((b"www-authenticate", b"Bearer"),))

    at = await door(closed)
    with pytest.raises(InvalidStatus) as caught:
        await within(_dial(at.url))
    response = caught.value.response
    assert (response.status_code, response.body) == (401, b'{"no":1}')
    assert response.headers["www-authenticate"] == "Bearer"
    with pytest.raises(CannotConnect, match="refused the connection: HTTP 401") as told:
        await within(connect(at.url, receiver=Collector()))
    assert told.value.status == 401


async def _dial(url: str) -> None:
    await dial(url, proxy=None)


async def test_a_server_that_cannot_be_reached_is_named(door: Open) -> None:
    at = await door()
    await within(at.server.stop(0))
    with pytest.raises(CannotConnect, match="cannot be reached") as caught:
        await within(connect(at.url, receiver=Collector()))
    assert caught.value.status is None
    with pytest.raises(CannotConnect, match="cannot be reached"):
        await within(connect("http://127.0.0.1/", receiver=Collector()))


async def test_a_server_without_the_subprotocol_is_not_talked_to(door: Open) -> None:
    at = await door(subprotocol=None)
    with pytest.raises(CannotConnect, match="subprotocol 'mcp'"):
        await within(connect(at.url, receiver=Collector()))


async def test_headers_reach_the_server(door: Open) -> None:
    seen: list[Any] = []

    async def look(scope: Any, receive: Any, send: Any) -> None:
        seen.extend(scope["headers"])
        await refuse(receive, send, 403, b"{}")

    at = await door(look)
    with pytest.raises(CannotConnect):
        await within(connect(at.url, receiver=Collector(), headers={"Authorization": "Bearer x"}))
    assert (b"authorization", b"Bearer x") in seen


@pytest.mark.parametrize("status", [300, 301, 302, 303, 307, 308])
async def test_no_redirect_is_followed_so_no_header_reaches_another_server(
    door: Open, status: int
) -> None:
    asked: list[str] = []

    async def elsewhere(scope: Any, receive: Any, send: Any) -> None:
        asked.append("elsewhere")
        await refuse(receive, send, 403, b"{}")

    other = await door(elsewhere)

    async def away(scope: Any, receive: Any, send: Any) -> None:
        asked.append("here")
        place = other.url if len(asked) == 1 else "/elsewhere"
        await refuse(receive, send, status, b"{}", ((b"location", place.encode()),))

    at = await door(away)
    for _ in range(2):  # to another origin, and to another path of its own
        with pytest.raises(CannotConnect, match=f"redirect.*not followed.*HTTP {status}") as told:
            await within(connect(at.url, receiver=Collector(), headers={"X-Api-Key": "secret"}))
        assert told.value.status == status
    assert asked == ["here", "here"]


async def test_stopping_the_server_tells_clients_to_go(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    await within(at.server.stop(20))
    assert await collector.end() == "closed by the peer"
    assert await at.collector.end() == "closed by the peer"


async def test_a_handler_that_is_cancelled_closes_its_pipe(door: Open) -> None:
    at = await door(echo=False)
    _, collector = await client(at)
    for task in list(at.server._state.tasks):
        task.cancel()
    assert await at.collector.end() == "closed by the peer"
    await collector.end()
    with pytest.raises(Closed):
        at.pipe.send(b"x")


async def test_a_client_speaks_tls_and_to_whom_the_system_trusts(tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    trusting = ssl.create_default_context(cafile=certificate)

    async def echo(connection: ServerConnection) -> None:
        async for message in connection:
            await connection.send(message)

    async with serve(
        echo, "127.0.0.1", 0, ssl=context, subprotocols=[Subprotocol("mcp")]
    ) as server:
        url = f"wss://localhost:{server.sockets[0].getsockname()[1]}/"
        got = Collector()
        pipe = await connect(url, receiver=got, tls=trusting)
        pipe.send(b'{"a":1}')
        await within(got.until(lambda: got.messages == [b'{"a":1}']))
        pipe.close()
        await within(got.until(lambda: bool(got.ends)))
        with pytest.raises(CannotConnect, match="certificate verify failed"):
            await connect(url, receiver=Collector())


def test_a_reason_is_cut_between_characters() -> None:
    assert closing_reason("left") == "left"
    assert closing_reason("\u00fc" * 100) == "\u00fc" * 61
    assert len(closing_reason("\ud800" * 200).encode()) <= 123

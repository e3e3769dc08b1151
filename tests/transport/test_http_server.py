from __future__ import annotations

import asyncio
import os
import signal
import socket
import ssl
import stat
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from gatewright.transport.base import Limits
from gatewright.transport.http_server import (
    BodyTimeout,
    BodyTooLarge,
    CannotListen,
    ClientGone,
    HttpServer,
    read_body,
    serve,
)
from tests.transport.asgi import echo
from tests.transport.certificate import make_certificate
from tests.transport.collecting import within

Serve = Callable[..., Coroutine[Any, Any, HttpServer]]


@pytest.fixture
async def served() -> AsyncIterator[Serve]:
    """Starts servers and stops them."""
    servers: list[HttpServer] = []

    async def start(app: Any = echo, **options: Any) -> HttpServer:
        server = await serve(app, **options)
        servers.append(server)
        return server

    yield start
    for server in servers:
        await within(server.stop(0.1))


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A folder whose path leaves room in the hundred bytes of a socket's address."""
    with tempfile.TemporaryDirectory(prefix="gw", dir="/tmp") as folder:
        yield Path(folder)


async def ask(url: str, body: bytes = b"hello", **options: Any) -> tuple[int, bytes]:
    async with (
        aiohttp.ClientSession() as session,
        session.post(url, data=body, **options) as answer,
    ):
        return answer.status, await answer.read()


def receiving(*messages: dict[str, Any]) -> Callable[[], Coroutine[Any, Any, dict[str, Any]]]:
    """An ASGI `receive` that says this and then waits for ever."""
    left = list(messages)

    async def receive() -> dict[str, Any]:
        if left:
            return left.pop(0)
        await asyncio.get_running_loop().create_future()
        raise AssertionError("nothing more is said")

    return receive


async def test_a_request_is_answered_on_a_free_port(served: Serve) -> None:
    server = await served()
    assert server.urls == [f"http://127.0.0.1:{server.port}"] == [server.url]
    assert await within(ask(server.url)) == (200, b"hello")


async def test_no_answer_says_what_serves_it_but_every_one_says_when(served: Serve) -> None:
    server = await served()
    async with aiohttp.ClientSession() as session, session.post(server.url) as answer:
        assert "server" not in answer.headers
        assert answer.headers["date"].endswith("GMT")


async def test_a_taken_port_is_refused_with_advice(served: Serve) -> None:
    server = await served()
    with pytest.raises(CannotListen) as caught:
        await served(port=server.port)
    assert str(caught.value) == (
        f"cannot listen on 127.0.0.1:{server.port}: it is taken; "
        "stop what uses it, or choose another with --port"
    )
    assert await within(ask(server.url)) == (200, b"hello")


async def test_an_address_of_another_machine_is_refused_with_advice(served: Serve) -> None:
    with pytest.raises(CannotListen, match="this machine has no such address"):
        await served(host="192.0.2.1")
    with pytest.raises(CannotListen, match="use an address of this host"):
        await served(host="no such name")


async def test_a_name_is_served_at_all_its_addresses_on_one_port(served: Serve) -> None:
    server = await served(host="localhost")
    assert server.url == f"http://localhost:{server.port}"
    assert await within(ask(f"http://127.0.0.1:{server.port}")) == (200, b"hello")


async def test_every_address_is_shown_as_one_that_can_be_opened(served: Serve) -> None:
    server = await served(host="0.0.0.0")
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert await within(ask(server.url)) == (200, b"hello")


async def test_a_unix_socket_is_for_its_owner_alone_and_removed_afterwards(
    served: Serve, short_path: Path
) -> None:
    path = short_path / "gateway.sock"
    server = await served(unix_socket=str(path))
    assert (server.urls, server.port) == ([f"unix:{path}"], 0)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    connector = aiohttp.UnixConnector(str(path))
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post("http://gateway/", data=b"x") as answer,
    ):
        assert await answer.read() == b"x"
    await within(server.stop(1))
    assert not path.exists()


async def test_a_unix_socket_in_use_is_refused_and_a_dead_one_replaced(
    served: Serve, short_path: Path
) -> None:
    path = short_path / "gateway.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    await served(unix_socket=str(path))
    with pytest.raises(CannotListen, match="it is taken"):
        await served(unix_socket=str(path))
    (short_path / "file").write_text("mine")
    with pytest.raises(CannotListen, match="it is taken"):
        await served(unix_socket=str(short_path / "file"))
    assert (short_path / "file").read_text() == "mine"
    with pytest.raises(CannotListen, match="cannot listen on"):
        await served(unix_socket=str(short_path / "no" / "folder"))


async def test_with_a_certificate_it_is_https(served: Serve, tmp_path: Path) -> None:
    certificate, key = make_certificate(tmp_path)
    server = await served(host="localhost", certificate=str(certificate), key=str(key))
    assert server.url == f"https://localhost:{server.port}"
    trust = ssl.create_default_context(cafile=str(certificate))
    assert await within(ask(server.url, ssl=trust)) == (200, b"hello")


async def test_a_certificate_that_cannot_be_used_is_refused_with_advice(
    served: Serve, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    with pytest.raises(CannotListen, match=r"there is no file .*gone\.pem"):
        await served(certificate=str(tmp_path / "gone.pem"), key=str(key))
    with pytest.raises(CannotListen, match="both must be PEM and belong together"):
        await served(certificate=str(key), key=str(certificate))


async def test_signals_stay_with_whoever_runs_the_loop(served: Serve) -> None:
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    await served()
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


async def test_stopping_waits_for_requests_under_way_and_takes_no_new_ones(served: Serve) -> None:
    entered, leave = asyncio.Event(), asyncio.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        entered.set()
        await leave.wait()
        await echo(scope, receive, send)

    server = await served(slow)
    asking = asyncio.create_task(ask(server.url))
    await within(entered.wait())
    stopping = asyncio.create_task(server.stop(20))
    for _ in range(3):
        await asyncio.sleep(0)
    with pytest.raises(OSError, match="onnect"):
        await asyncio.open_connection("127.0.0.1", server.port)
    leave.set()
    assert await within(asking) == (200, b"hello")
    await within(stopping)


async def test_stopping_closes_idle_connections_at_once(served: Serve) -> None:
    server = await served()
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n")
    assert b"200" in await within(reader.readuntil(b"\r\n\r\n"))
    assert server.connections == 1
    await within(server.stop(60))
    assert await within(reader.read()) == b""
    writer.close()


async def test_requests_that_do_not_end_are_cut_after_the_grace_without_an_error_in_the_log(
    served: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    entered = asyncio.Event()
    cancelled: list[str] = []

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"x", "more_body": True})
        entered.set()
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append("yes")
            raise

    server = await served(endless)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    await within(entered.wait())
    await within(server.stop(0.05))
    assert cancelled == ["yes"]
    cut = await within(reader.read())
    assert b"200" in cut
    assert not cut.endswith(b"0\r\n\r\n")
    assert caplog.records == []
    writer.close()


async def test_an_application_that_breaks_answers_500_and_is_logged(
    served: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("inside")

    server = await served(broken)
    assert (await within(ask(server.url)))[0] == 500
    assert "inside" in caplog.text


async def test_a_body_in_pieces_is_read_whole() -> None:
    receive = receiving(
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "more_body": True},
        {"type": "http.request", "body": b"c", "more_body": False},
    )
    assert await within(read_body(receive, 3)) == b"abc"
    assert await within(read_body(receiving({"type": "http.request", "body": b"abc"}), 3)) == b"abc"


async def test_a_body_over_the_limit_is_refused_as_soon_as_it_is() -> None:
    with pytest.raises(BodyTooLarge):
        await within(read_body(receiving({"type": "http.request", "body": b"abcd"}), 3))
    endless = receiving(
        {"type": "http.request", "body": b"ab", "more_body": True},
        {"type": "http.request", "body": b"cd", "more_body": True},
    )
    with pytest.raises(BodyTooLarge):
        await within(read_body(endless, 3))


async def test_a_body_that_stops_halfway_runs_out_of_time() -> None:
    receive = receiving({"type": "http.request", "body": b"ab", "more_body": True})
    with pytest.raises(BodyTimeout):
        await within(read_body(receive, 3, 0.01))


async def test_a_client_that_leaves_in_the_middle_is_gone() -> None:
    with pytest.raises(ClientGone):
        await within(read_body(receiving({"type": "http.disconnect"}), 3))
    receive = receiving(
        {"type": "http.request", "body": b"ab", "more_body": True}, {"type": "http.disconnect"}
    )
    with pytest.raises(ClientGone):
        await within(read_body(receive, 3))


async def test_five_hundred_clients_come_and_go_without_a_trace(served: Serve) -> None:
    server = await served(limits=Limits())
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=100)) as session:

        async def one() -> bytes:
            async with session.post(server.url, data=b"x") as answer:
                return await answer.read()

        assert await within(asyncio.gather(*(one() for _ in range(500)))) == [b"x"] * 500
    async with asyncio.timeout(20):
        while server.connections:
            await asyncio.sleep(0.01)
    assert len(os.listdir("/dev/fd")) <= before + 2  # noqa: PTH208

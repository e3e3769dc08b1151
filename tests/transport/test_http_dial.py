from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from pathlib import Path

import pytest

from gatewright.transport import http_dial
from gatewright.transport.http_client import CannotReach
from gatewright.transport.http_client_connection import HttpClientConnection
from gatewright.transport.http_dial import dial
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_request import Target
from gatewright.transport.read_turns import ReadTurns
from tests.transport.certificate import make_certificate
from tests.transport.collecting import Collector, within
from tests.transport.http_peers import (
    Reach,
    ScriptedServer,
    answering,
    event_stream,
    free_port,
    json_answer,
    nothing,
)


async def test_a_server_at_an_ipv6_address_is_reached(reach: Reach) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        host = next(line for line in head.split(b"\r\n") if line.startswith(b"Host"))
        writer.write(json_answer(host))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(serve, "::1", 0)
    port = server.sockets[0].getsockname()[1]
    upstream = reach(f"http://[::1]:{port}/")
    posted = await within(upstream.post(b"", {}, nothing))
    assert posted.body == b"Host: [::1]:%d" % port
    await upstream.close()
    server.close()
    await within(server.wait_closed())


async def test_the_next_address_of_a_name_is_tried_when_one_refuses(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with answering(json_answer(b"{}")) as server:
        refusing = ("127.0.0.1", free_port())
        _addresses(monkeypatch, refusing, refusing, ("127.0.0.1", server.port))
        asked = reach(f"http://many.example:{server.port}/").post(b"{}", {}, nothing)
        assert (await within(asked)).status == 200


async def test_an_address_that_does_not_answer_does_not_hold_up_the_next(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    full, waiting = _full()
    async with answering(json_answer(b"{}")) as server:
        _addresses(monkeypatch, full.getsockname(), ("127.0.0.1", server.port))
        asked = reach(f"http://many.example:{server.port}/").post(b"{}", {}, nothing)
        assert (await within(asked)).status == 200
    for each in (full, *waiting):
        each.close()


async def test_where_no_address_answers_it_says_so_and_nothing_was_sent(
    reach: Reach, monkeypatch: pytest.MonkeyPatch
) -> None:
    _addresses(monkeypatch, ("127.0.0.1", free_port()), ("127.0.0.1", free_port()))
    with pytest.raises(CannotReach, match=r"refused$") as caught:
        await within(reach("http://many.example/").post(b"{}", {}, nothing))
    assert caught.value.not_sent is True


@pytest.mark.parametrize("lacking_first", [True, False])
async def test_what_an_address_says_counts_before_what_is_short_here(
    monkeypatch: pytest.MonkeyPatch, lacking_first: bool
) -> None:
    """`localhost` where IPv6 is switched off: a server that is down would be taken for trouble of this machine's for ever."""
    problems = [
        OSError(errno.EADDRNOTAVAIL, "none"),
        ConnectionRefusedError(errno.ECONNREFUSED, "no"),
    ]
    left = problems if lacking_first else problems[::-1]

    async def reached(address: object) -> socket.socket:
        raise left.pop(0)

    monkeypatch.setattr(http_dial, "_reach", reached)
    _addresses(monkeypatch, ("127.0.0.1", 1), ("127.0.0.1", 2))
    assert await _fault() == (False, "refused")
    left[:] = [OSError(errno.EADDRNOTAVAIL, "none"), OSError(errno.EMFILE, "many")]
    assert (await _fault())[0]


async def test_a_name_that_is_not_found_says_nothing_of_its_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor where whoever finds names is silent, or has too many to find."""
    monkeypatch.setattr(http_dial, "LOOK_UP_S", 0.01)

    async def silent(host: str, port: int) -> list[object]:
        await asyncio.sleep(60)
        return []

    async def full(host: str, port: int) -> list[object]:
        raise OSError(None, "too many names are looked up")

    async def without(host: str, port: int) -> list[object]:
        return []

    for look_up, why in ((silent, "in time"), (full, "too many names"), (without, "no address")):
        monkeypatch.setattr(http_dial, "look_up", look_up)
        here, said = await _fault(whole=True)
        assert (here, why in said) == (True, True)


async def _fault(*, whole: bool = False) -> tuple[bool, str]:
    """Whether a connection that is not made is trouble of this machine's, and the last word of why, or all of it."""
    caller = HttpClientConnection("x", lambda _: None, ReadTurns(asyncio.get_running_loop()))
    with pytest.raises(Fault) as caught:
        await within(dial(Target("http://many.example/"), True, caller))
    said = str(caught.value)
    return caught.value.here, said if whole else said.rsplit(maxsplit=1)[-1]


async def test_a_connection_that_is_not_made_in_time_was_never_used(reach: Reach) -> None:
    full, waiting = _full()
    upstream = reach(f"http://127.0.0.1:{full.getsockname()[1]}/")
    with pytest.raises(CannotReach, match="in time") as caught:
        await within(upstream.post(b"{}", {}, nothing, timeout=0.1))
    assert caught.value.not_sent is True
    for each in (full, *waiting):
        each.close()


async def test_trust_that_is_not_settled_in_time_is_no_connection(reach: Reach) -> None:
    async with answering(b"never said") as server:
        upstream = reach(server.url.replace("http:", "https:"))
        with pytest.raises(CannotReach, match="in time") as caught:
            await within(upstream.post(b"{}", {}, nothing, timeout=0.1))
        assert caught.value.not_sent is True


async def test_a_cancellation_before_trust_is_settled_leaves_nothing_behind(reach: Reach) -> None:
    hello, gone = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        hello.set()
        while await reader.read(1000):
            pass
        gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    upstream = reach(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    posting = asyncio.ensure_future(upstream.post(b"{}", {}, nothing))
    await within(hello.wait())
    posting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await within(posting)
    await within(gone.wait())
    server.close()
    await within(server.wait_closed())


async def test_a_server_without_tls_is_not_reached_with_it() -> None:
    async with answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as server:
        target = Target(server.url.replace("http:", "https:"))
        caller = HttpClientConnection(
            target.origin, lambda _: None, ReadTurns(asyncio.get_running_loop())
        )
        dialling = asyncio.ensure_future(dial(target, True, caller))
        with pytest.raises(Fault) as caught:
            await within(_hang_up_on(server, dialling))
        assert (caught.value.kind, caught.value.not_sent) == ("unreachable", True)


async def test_streams_and_open_ended_answers_come_over_tls_too(
    reach: Reach, tmp_path: Path
) -> None:
    certificate, key = make_certificate(tmp_path)
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificate, key)
    gone = asyncio.Event()
    answers = [
        json_answer(b"x" * 300_000),
        event_stream(b"data: a\n\n", b"data: b\n\n"),
        b"HTTP/1.1 200 OK\r\n\r\nopen",
        event_stream(b"data: c\n\n", end=False),
    ]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while answers:
            await reader.readuntil(b"\r\n\r\n{}")
            answer = answers.pop(0)
            writer.write(answer)
            await writer.drain()
            if answer.endswith(b"open"):
                break
            if not answers:
                await reader.read()
                gone.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=served)
    url = f"https://localhost:{server.sockets[0].getsockname()[1]}/"
    upstream = reach(url, tls=ssl.create_default_context(cafile=str(certificate)))
    collector = Collector()

    async def post() -> bytes | None:
        return (await within(upstream.post(b"{}", {}, collector.message))).body

    assert [await post(), await post(), await post()] == [b"x" * 300_000, None, b"open"]
    posting = asyncio.ensure_future(post())
    assert await collector.count(3) == [b"a", b"b", b"c"]
    posting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await posting
    await within(gone.wait())
    server.close()


async def _hang_up_on(server: ScriptedServer, dialling: asyncio.Future[None]) -> None:
    await asyncio.wait([dialling], timeout=0.1)
    await server.__aexit__()
    await dialling


def _addresses(monkeypatch: pytest.MonkeyPatch, *found: tuple[str, int]) -> None:
    """Let any name stand for these addresses."""

    async def look_up(host: str, port: int) -> list[tuple[object, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", each) for each in found]

    monkeypatch.setattr(http_dial, "look_up", look_up)


def _full() -> tuple[socket.socket, list[socket.socket]]:
    """A port that takes no more connections, because nobody accepts those that wait there."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(0)
    waiting = []
    for _ in range(4):
        each = socket.socket()
        each.setblocking(False)
        each.connect_ex(listener.getsockname())
        waiting.append(each)
    return listener, waiting

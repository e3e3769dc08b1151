"""Asking strangers for small documents."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from gatewright.transport import safe_fetch
from gatewright.transport.safe_fetch import (
    MOST_BYTES,
    Addresses,
    Egress,
    EgressFailed,
    PublicOnly,
    addresses_of,
    is_outside,
)
from gatewright.web.ip_addresses import is_public

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def stranger(answer: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that gives each request to `answer`; yields its URL and what it was sent."""
    heard: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                int(line.split(b":")[1])
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length")
            ),
            0,
        )
        heard.append(head + await reader.readexactly(length))
        try:
            await answer(heard[-1], writer)
        except ConnectionError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server:
        yield f"http://{host}:{port}/x?a=%2F%20b", heard


def plain(text: bytes) -> Answer:
    async def answer(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(text)
        await writer.drain()

    return answer


async def test_a_document_comes_with_its_status_and_the_url_is_asked_as_it_is() -> None:
    async with stranger(plain(b"HTTP/1.1 203 x\r\nContent-Length: 2\r\n\r\nhi")) as (url, heard):
        assert await Egress().ask(url, outside=False) == (203, b"hi")
    assert heard[0].startswith(b"GET /x?a=%2F%20b HTTP/1.1\r\n")


async def test_a_body_is_posted_with_its_headers() -> None:
    answer = plain(b"HTTP/1.1 200 x\r\nContent-Length: 0\r\n\r\n")
    async with stranger(answer) as (url, heard):
        sent = await Egress().ask(url, {"Authorization": "Basic x"}, b"a=b", outside=False)
    assert sent == (200, b"")
    assert heard[0].startswith(b"POST /x")
    assert b"Authorization: Basic x\r\n" in heard[0]
    assert heard[0].endswith(b"\r\n\r\na=b")


async def test_a_redirect_is_not_followed_and_cookies_are_not_kept() -> None:
    away = plain(
        b"HTTP/1.1 302 x\r\nLocation: /there\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
    )
    async with stranger(away) as (url, heard):
        egress = Egress()
        assert (await egress.ask(url, outside=False))[0] == 302
        await egress.ask(url, outside=False)
    assert len(heard) == 2
    assert b"Cookie" not in heard[1]


async def test_a_large_body_is_given_up_at_the_limit() -> None:
    async def flood(_: bytes, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 x\r\nContent-Length: 1000000000\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with asyncio.timeout(20), stranger(flood) as (url, _):
        with pytest.raises(EgressFailed, match=f"more than {MOST_BYTES} bytes"):
            await Egress().ask(url, outside=False)


async def test_a_small_body_that_unpacks_to_a_large_one_is_given_up() -> None:
    import gzip  # noqa: PLC0415 - only here

    bomb = gzip.compress(b"x" * 4_000_000)
    head = b"HTTP/1.1 200 x\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    async with stranger(plain(head + bomb)) as (url, _):
        with pytest.raises(EgressFailed, match="more than"):
            await Egress().ask(url, outside=False)


async def test_silence_ends_with_the_time_limit() -> None:
    gone = asyncio.Event()

    async def silent(_: bytes, writer: asyncio.StreamWriter) -> None:
        await gone.wait()

    async with asyncio.timeout(20), stranger(silent) as (url, _):
        with pytest.raises(EgressFailed, match=r"did not answer in 0\.2 s"):
            await Egress(seconds=0.2).ask(url, outside=False)
        gone.set()


@pytest.mark.parametrize("text", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 x\r\n\r\n"[:9]])
async def test_what_is_no_http_is_named(text: bytes) -> None:
    async with stranger(plain(text)) as (url, _):
        with pytest.raises(EgressFailed, match=r"127\.0\.0\.1 cannot be asked"):
            await Egress().ask(url, outside=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "10.1.2.3", "169.254.169.254", "[::1]", "localhost"])
async def test_from_outside_nothing_inside_is_asked(host: str) -> None:
    with pytest.raises(EgressFailed, match="public address"):
        await Egress().ask(f"https://{host}:1/", outside=True)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "::ffff:8.8.8.8"])
def test_public_addresses_are_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1%eth0",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "as.example",
        "",
    ],
)
def test_everything_else_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:9/x", False),
        ("https://localhost/x", False),
        ("https://10.0.0.1/x", False),
        ("https://1.1.1.1/x", True),
        ("https://no-such-host.invalid/x", True),
    ],
)
async def test_a_server_is_outside_unless_its_address_is_inside(url: str, expected: bool) -> None:
    assert await is_outside(url) is expected


async def test_the_addresses_of_a_name_are_all_told_and_a_lost_one_has_none() -> None:
    assert set(await addresses_of("localhost")) <= {"127.0.0.1", "::1"}
    assert await addresses_of("127.0.0.1") == ["127.0.0.1"]
    assert await addresses_of("no-such-name.invalid") == []
    assert await addresses_of("." * 300) == []


async def test_a_link_local_address_keeps_the_interface_that_it_is_reached_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """RFC 4007: without it nobody can connect to it. It is as little public with it."""

    async def found(*_: object, **__: object) -> list[object]:
        kind = socket.SOCK_STREAM
        return [
            (socket.AF_INET6, kind, 6, "", ("fe80::1", 80, 0, 2)),
            (socket.AF_INET6, kind, 6, "", ("fe80::2%eth0", 80, 0, 2)),
            (socket.AF_INET6, kind, 6, "", ("2001:4860::8", 80, 0, 0)),
            (socket.AF_INET, kind, 6, "", ("10.0.0.1", 80)),
        ]

    monkeypatch.setattr(safe_fetch, "look_up", found)
    hosts = [one["host"] for one in await Addresses().resolve("printer.local", 80)]
    assert hosts == ["fe80::1%2", "fe80::2%eth0", "2001:4860::8", "10.0.0.1"]
    assert [one["host"] for one in await PublicOnly().resolve("printer.local", 80)] == [hosts[2]]

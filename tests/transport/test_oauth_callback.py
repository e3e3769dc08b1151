"""Where a browser comes back to after a login."""

from __future__ import annotations

import asyncio
import errno
from typing import Any
from urllib.parse import urlencode, urlsplit

import aiohttp
import pytest
from yarl import URL

from gatewright.transport.oauth_callback import Landing, LandingTaken
from tests.transport.http_peers import free_port


def visited(landing: Landing, state: str = "right", issuer: str = "a1") -> str:
    """The authorization URL of a login with the issuer of this path."""
    asked = {"client_id": "x", "state": state, "redirect_uri": f"{landing.url}/{issuer}"}
    return f"https://as.example/authorize?{urlencode(asked)}"


async def get(url: str, method: str = "GET") -> tuple[int, str]:
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, URL(url, encoded=True)) as answer,
    ):
        return answer.status, await answer.text()


async def test_the_address_of_the_arrival_is_what_was_waited_for() -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        waiting = landing.expect(visited(landing))
        status, text = await get(f"{landing.url}/a1?code=a%2Fb&state=right&iss=x")
        assert (status, "Close this window" in text) == (200, True)
        assert await waiting == f"{landing.url}/a1?code=a%2Fb&state=right&iss=x"


@pytest.mark.parametrize(
    ("tail", "status"),
    [
        ("?code=evil&state=wrong", 400),
        ("?code=evil", 400),
        ("", 400),
        ("?" + "&".join(f"a{n}=1" for n in range(60)), 400),
        ("/more?state=right", 404),
    ],
)
async def test_what_does_not_belong_to_the_login_does_not_end_the_wait(
    tail: str, status: int
) -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        waiting = landing.expect(visited(landing))
        assert (await get(f"{landing.url}/a1{tail}"))[0] == status
        assert not waiting.done()
        assert (await get(f"{landing.url}/a1?state=right", "POST"))[0] == 404
        await get(f"{landing.url}/a1?state=right&code=c")
        assert await waiting == f"{landing.url}/a1?state=right&code=c"


@pytest.mark.parametrize("place", ["", "/", "/a2", "/a1/", "/A1", "/a1/../a1", "//a1", "/%61%31"])
async def test_an_arrival_at_another_redirect_uri_is_turned_away(place: str) -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        waiting = landing.expect(visited(landing))
        assert (await get(f"{landing.url}{place}?state=right&code=evil"))[0] == 404
        assert not waiting.done()
        waiting.cancel()


async def test_a_second_arrival_is_turned_away() -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        assert (await get(f"{landing.url}/a1?state=right"))[0] == 404
        waiting = landing.expect(visited(landing))
        await get(f"{landing.url}/a1?state=right&code=1")
        assert (await get(f"{landing.url}/a1?state=right&code=2"))[0] == 400
        assert await waiting == f"{landing.url}/a1?state=right&code=1"


async def test_without_a_state_nothing_can_arrive() -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        waiting = landing.expect(visited(landing, state=""))
        assert (await get(f"{landing.url}/a1?state="))[0] == 400
        assert not waiting.done()
        waiting.cancel()


async def test_somebody_who_sends_no_request_disturbs_nobody() -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        waiting = landing.expect(visited(landing))
        host, port = landing.url.split("/")[2].split(":")
        for garbage in (b"", b"\r\n\r\n", b"GET\r\n\r\n", b"x" * 100_000):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(garbage)
            writer.close()
        assert (await get(f"{landing.url}/a1?state=right"))[0] == 200
        assert await waiting == f"{landing.url}/a1?state=right"


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1", "127.0.0.2", "[::ffff:127.0.0.3]"])
async def test_it_listens_where_the_redirect_uri_says(host: str) -> None:
    port = free_port()
    async with asyncio.timeout(20), Landing(port, host.strip("[]")) as landing:
        back = f"http://{host}:{port}/back"
        asked = urlencode({"state": "right", "redirect_uri": back})
        waiting = landing.expect(f"https://as.example/authorize?{asked}")
        assert (await get(f"{back}?state=right&code=1"))[0] == 200
        assert await waiting == f"{back}?state=right&code=1"
        place = urlsplit(landing.url)
        assert (place.port, place.path) == (port, "/callback")
        elsewhere = "127.0.0.1" if place.hostname != "127.0.0.1" else "::1"
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(elsewhere, port)


async def test_localhost_is_both_addresses_or_none() -> None:
    port = free_port()
    async with asyncio.timeout(20), Landing(port, "localhost") as landing:
        waiting = landing.expect(visited(landing))
        assert (await get(f"http://[::1]:{port}/callback/a1?state=wrong"))[0] == 400
        assert (await get(f"http://127.0.0.1:{port}/callback/a1?state=right"))[0] == 200
        assert (await waiting).startswith(landing.url)
    async with Landing(port, "::1"):
        with pytest.raises(LandingTaken, match=f"port {port}"):
            async with Landing(port, "localhost"):
                pass


@pytest.mark.parametrize("failing", [("::1",), ("::1", "127.0.0.1")])
async def test_an_address_that_the_machine_does_not_have_is_left_out(
    monkeypatch: pytest.MonkeyPatch, failing: tuple[str, ...]
) -> None:
    genuine = asyncio.start_server

    async def start(serve: Any, address: str, port: int, **more: Any) -> asyncio.Server:
        if address in failing:
            raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")
        return await genuine(serve, address, port, **more)

    monkeypatch.setattr(asyncio, "start_server", start)
    port = free_port()
    if len(failing) == 2:
        with pytest.raises(LandingTaken, match=f"port {port}.*no such address"):
            async with Landing(port, "localhost"):
                pass
        return
    async with Landing(port, "localhost") as landing:
        assert (await get(f"{landing.url}/a1"))[0] == 404


async def test_a_port_in_use_is_named() -> None:
    async with Landing(0) as landing:
        port = int(landing.url.split(":")[2].split("/")[0])
        with pytest.raises(LandingTaken, match=f"port {port}"):
            async with Landing(port):
                pass


async def raw(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


@pytest.mark.parametrize("target", ["http://[", "//[", "http://[::1"])
async def test_a_target_that_is_none_is_answered_as_any_other(
    target: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with asyncio.timeout(20), Landing(0) as landing:
        landing.expect(visited(landing))
        port = urlsplit(landing.url).port or 0
        found = await raw(port, f"GET {target} HTTP/1.1\r\n\r\n".encode())
        assert found.startswith(b"HTTP/1.1 404 ")
    assert not caplog.records


async def test_a_spare_connection_of_a_browser_is_not_waited_for() -> None:
    async with Landing(0) as landing:
        port = urlsplit(landing.url).port or 0
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        async with asyncio.timeout(20):
            while not landing._connected:
                await asyncio.sleep(0.001)
    assert await asyncio.wait_for(reader.read(), 20) == b""
    assert not landing._connected or all(one.is_closing() for one in landing._connected)
    writer.close()

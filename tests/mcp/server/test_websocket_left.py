"""What WebSocket clients leave to the collector once they are gone, however they go: nothing, in the event loop that serves."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import gc
import json
import os
import socket
import struct
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvloop

from gatewright.call import Answer, Back, Call, Outcome, Question
from gatewright.dialects.groundhog.endpoint import GroundhogEndpoint
from gatewright.dialects.groundhog.listener import Site
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_app import App
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_CLIENT_CAPABILITIES, META_VERSION
from gatewright.transport import websocket_connection
from gatewright.transport.base import Limits
from gatewright.transport.http_server import HttpServer, serve
from tests.dialects.client import MODERN, within
from tests.dialects.groundhog.rig import Rig
from tests.dialects.house import House, text
from tests.dialects.steps import Hang

MANY = 3
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "a", "version": "1"},
}
LINGER = struct.pack("ii", 1, 0)


def framed(message: bytes, opcode: int = 1) -> bytes:
    """A frame of a client, whose mask changes nothing."""
    size = len(message)
    head = bytes([0x80 | size]) if size < 126 else b"\xfe" + struct.pack("!H", size)
    return bytes([0x80 | opcode]) + head + bytes(4) + message


def request(method: str, params: dict[str, Any], ident: int = 1) -> bytes:
    return framed(
        json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
    )


class Peer:
    """A client that is no more than a socket, so that what is left is the server's."""

    def __init__(self, port: int) -> None:
        self._port = port
        self.raw = socket.socket()
        self.raw.setblocking(False)

    async def comes(self, more: bytes) -> None:
        """Upgrade."""
        loop = asyncio.get_running_loop()
        await loop.sock_connect(self.raw, ("127.0.0.1", self._port))
        key = base64.b64encode(os.urandom(16))
        head = (
            b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1:%d\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
            b"sec-websocket-version: 13\r\nsec-websocket-key: %b\r\n%b\r\n"
        )
        await self.says(head % (self._port, key, more))
        await self.hears(b"\r\n\r\n")

    async def says(self, data: bytes) -> None:
        await asyncio.get_running_loop().sock_sendall(self.raw, data)

    async def hears(self, words: bytes) -> None:
        """Read until these words came."""
        came = b""
        while words not in came:
            more = await within(asyncio.get_running_loop().sock_recv(self.raw, 65536))
            assert more, f"the end, after {came!r}"
            came += more

    async def end(self) -> None:
        """Read to the end."""
        with contextlib.suppress(ConnectionError):
            while await within(asyncio.get_running_loop().sock_recv(self.raw, 65536)):
                pass

    def breaks(self) -> None:
        """Go with a reset."""
        self.raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
        self.raw.close()


End = Callable[[Peer], Awaitable[None]]


async def _resets(peer: Peer) -> None:
    peer.breaks()


async def _goes(peer: Peer) -> None:
    peer.raw.close()


async def _says_goodbye(peer: Peer) -> None:
    await peer.says(framed(b"\x03\xe8", 8))
    await peer.end()


async def _sends_bytes(peer: Peer) -> None:
    await peer.says(framed(b"hi", 2))
    await peer.end()


async def _sends_no_text(peer: Peer) -> None:
    await peer.says(framed(b"\xff\xff"))
    await peer.end()


async def _breaks_the_protocol(peer: Peer) -> None:
    await peer.says(b"\xff\xff\xff\xff")
    await peer.end()


async def _sends_too_much(peer: Peer) -> None:
    await peer.says(b"\x81\xff" + struct.pack("!Q", 1 << 30) + bytes(4))
    await peer.end()


async def _floods(peer: Peer) -> None:
    await peer.says(framed(b"", 9) * 900)
    await peer.end()


async def _reads_nothing(peer: Peer) -> None:
    for number in range(2, 12):
        await peer.says(request("tools/call", {"name": "long"}, number))


ENDS: tuple[End, ...] = (
    _resets,
    _goes,
    _says_goodbye,
    _sends_bytes,
    _sends_no_text,
    _breaks_the_protocol,
    _sends_too_much,
    _floods,
    _reads_nothing,
)


async def _silent(_: Peer) -> None:
    pass


async def _greeted(peer: Peer) -> None:
    await peer.says(request("initialize", INITIALIZE, 0))
    await peer.hears(b"serverInfo")


async def _answered(peer: Peer) -> None:
    await _greeted(peer)
    await peer.says(request("tools/call", {"name": "echo"}))
    await peer.hears(b'"hi"')


async def _under_way(peer: Peer) -> None:
    await _greeted(peer)
    await peer.says(request("tools/call", {"name": "hang"}))
    await peer.says(framed(b"", 9))
    await peer.hears(b"\x8a\x00")


async def _asked(peer: Peer) -> None:
    await _greeted(peer)
    await peer.says(request("tools/call", {"name": "ask"}))
    await peer.hears(b"roots/list")


async def _listening(peer: Peer) -> None:
    meta = {META_VERSION: MODERN, META_CLIENT_CAPABILITIES: {}}
    wanted = {"notifications": {"toolsListChanged": True}, "_meta": meta}
    await peer.says(request("subscriptions/listen", wanted))
    await peer.hears(b"acknowledged")


BEFORE = (_silent, _greeted, _answered, _under_way, _asked, _listening)


async def _groundhog_answered(peer: Peer) -> None:
    await peer.says(request("session/get", {}))
    await peer.hears(b"user_context")


async def _groundhog_under_way(peer: Peer) -> None:
    await _groundhog_answered(peer)
    await peer.says(request("tools/execute", {"tool_id": "hang", "parameters": {}}))
    await peer.says(framed(b"", 9))
    await peer.hears(b"\x8a\x00")


async def _left_by(
    server: HttpServer, before: End, end: End, protocols: bytes, count: int
) -> list[type]:
    """The types of all objects that so many clients leave to the collector."""

    async def one() -> None:
        peer = Peer(server.port)
        with peer.raw:
            await peer.comes(protocols)
            await before(peer)
            await end(peer)
            if end is _reads_nothing:
                await _nobody(server)

    await one()  # what is made once
    await _nobody(server)
    with _collecting() as found:
        for _ in range(count):
            await one()
        await _nobody(server)
    return found


async def _nobody(server: HttpServer) -> None:
    async with asyncio.timeout(20):
        while server.connections:
            await asyncio.sleep(0.005)
    for _ in range(20):  # the tasks that were cancelled, and what is done in later turns
        await asyncio.sleep(0)


@contextmanager
def _collecting() -> Iterator[list[type]]:
    found: list[type] = []
    gc.disable()
    gc.freeze()  # what was there before is looked through neither now nor at the end, which takes seconds in a process of many tests
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        yield found
        many = gc.collect()
        found.extend(type(one) for one in gc.garbage)
        if many and not found:  # generators, whose end freed the others
            found.append(Generator)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()
        gc.enable()


LIMITS = Limits(patience_s=0.05, queue_bytes=4096)


@pytest.mark.parametrize("before", BEFORE)
@pytest.mark.parametrize("end", ENDS)
def test_an_mcp_client_that_is_gone_waits_for_no_collector(
    before: End, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten thousand that leave in one moment would be held until the collector looks, which stops the loop for seconds."""
    monkeypatch.setattr(websocket_connection, "CLOSING_S", 0.05)

    async def work() -> list[type]:
        async with House(queue_bytes=4096) as house:
            _teach(house)
            server = await serve(house.app, limits=LIMITS)
            try:
                return await _left_by(server, before, end, b"sec-websocket-protocol: mcp\r\n", MANY)
            finally:
                await within(server.stop(0.1))

    assert Counter(uvloop.run(work())) == {}


@pytest.mark.parametrize("before", [_silent, _groundhog_answered, _groundhog_under_way, _answered])
@pytest.mark.parametrize("end", ENDS[:-1])
def test_a_groundhog_client_that_is_gone_waits_for_no_collector(
    before: End, end: End, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(websocket_connection, "CLOSING_S", 0.05)

    async def work() -> list[type]:
        async with Rig() as rig:
            _teach(rig.house)
            endpoint = GroundhogEndpoint(rig.parts)
            app = App(rig.house.front, Guard(), frozenset(), [endpoint.routes])
            server = await serve(Site(app, endpoint, "/mcp", posts=False), limits=LIMITS)
            try:
                return await _left_by(
                    server, before, end, b"authorization: Bearer key-ann\r\n", MANY
                )
            finally:
                await app.close()
                await within(server.stop(0.1))

    assert Counter(uvloop.run(work())) == {}


def _teach(house: House) -> None:
    async def ask(_: Call, back: Back) -> Outcome:
        return Answer(jsonrpc.encode(await back.ask(Question("roots/list", None, "srv"))))

    house.script.does("echo", text("hi"))
    house.script.does("long", text("x" * 1_000_000))
    house.script.does("hang", Hang())
    house.script.does("ask", ask)

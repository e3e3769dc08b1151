"""A WebSocket that rests from being read still has the time of a ping for its answer, and no more."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gatewright.transport import slow_senders
from gatewright.transport.base import Limits
from tests.transport.collecting import within
from tests.transport.sockets import Open, shake_hands
from tests.transport.test_websocket_intake import frame


async def test_a_pong_that_came_while_its_websocket_rested_is_looked_for_once(
    door: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_senders, "SLOW_S", 0.0)
    monkeypatch.setattr(slow_senders, "REST_S", 3600.0)
    at, loop = await door(limits=Limits(ping_interval_s=0.4)), asyncio.get_running_loop()
    with await shake_hands(at) as raw:
        said = await within(loop.sock_recv(raw, 1000))
        whole = frame(100)
        await loop.sock_sendall(raw, whole[:20])
        await asyncio.sleep(0.02)
        await loop.sock_sendall(raw, whole[20:21])
        await asyncio.sleep(0.05)  # now it rests
        ping = await within(loop.sock_recv(raw, 1000))
        assert said.startswith(b"HTTP/1.1 101 ")
        assert ping[:2] == b"\x89\x04"
        await loop.sock_sendall(raw, whole[21:] + b"\x8a\x84" + bytes(4) + ping[2:])
        heard = b""
        while b"x" * 100 not in heard:  # behind the next ping
            heard += await within(loop.sock_recv(raw, 1000))
            assert heard
        # And who answers none is cut off, though it rests again and again.
        began = loop.time()
        await loop.sock_sendall(raw, frame(60_000)[:20])
        with contextlib.suppress(OSError):
            while loop.time() - began < 5.0:
                await loop.sock_sendall(raw, b"x")
                await asyncio.sleep(0.02)
        assert loop.time() - began < 3.0

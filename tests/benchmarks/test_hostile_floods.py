"""Each flood reaches its door: what it sends is counted by a server that takes everything, and ends where that hangs up."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from benchmarks.hostile_floods import FLOODS

DOORS = ("mcp", "groundhog", "rooms", "ggen")


@contextmanager
def swallowing(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that answers each connection once, and keeps the beginning of what it reads."""
    heard: list[bytes] = []
    listening = socket.create_server(("127.0.0.1", 0))
    listening.settimeout(10)

    def serve() -> None:
        while True:
            try:
                talking, _ = listening.accept()
            except OSError:
                return
            with talking:
                talking.settimeout(10)
                first = talking.recv(65536)
                heard.append(first)
                if first.startswith(b"GET") and b"Upgrade" in first:
                    talking.sendall(answer)
                for _ in range(8):
                    if not talking.recv(65536):
                        break

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"http://key@127.0.0.1:{listening.getsockname()[1]}", heard
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join(20)


@pytest.mark.parametrize("name", sorted(FLOODS))
def test_a_flood_is_sent_until_its_time_is_over_or_the_other_side_hangs_up(name: str) -> None:
    with swallowing(b"HTTP/1.1 101 Switching Protocols\r\n\r\n") as (address, heard):
        sent = FLOODS[name](address, 0.3)
    assert heard
    assert sent > 0


@pytest.mark.parametrize("door", DOORS)
def test_a_door_that_is_closed_gets_nothing_behind_the_head(door: str) -> None:
    with swallowing(b"HTTP/1.1 401 Unauthorized\r\n\r\n") as (address, heard):
        assert FLOODS[f"{door}_pings"](address, 0.3) == 0
    assert b"Authorization: Bearer key" in heard[0]

"""Crowds that do what no good client does: send a byte a second, leave all at once, never read. What becomes of them, and of others meanwhile.

Slow (fault test 15): 2,000 connections that send one byte a second of a header block, of a body, or of a WebSocket frame. Leaving (16): 10,000
WebSocket clients that hang up in one moment, and come again. Silent (17): 500 WebSocket clients that ask and do not read. A good client
calls a tool at a steady rate throughout; its p99 is compared with what it was alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import resource
import socket
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from benchmarks.commands import echo_stdio, gatewright
from benchmarks.good_client import Crowd, House, good_client
from benchmarks.hostile_floods import text_frame, upgrade
from benchmarks.mcp_client import HELLO
from benchmarks.processes import Process, children, resident_bytes, started
from benchmarks.rows import Options, Row, main

__all__ = [
    "OF_OTHERS",
    "Leaving",
    "Silent",
    "Slow",
    "come_and_go",
    "files",
    "house_in",
    "leaving",
    "run",
    "silent",
    "slow",
]

SLOW, LEAVING, SILENT = 2000, 10_000, 500
ALONE_S = 4.0
LATEST_S = 90.0
"""After this it is no longer waited for that somebody is cut off."""
MOST_P99 = 2.0
EACH_KIB = 40.0
OF_OTHERS = 8
"""So many more descriptors are nobody's of a crowd: a worker process that was started for a large text, say."""
QUEUE_KIB = 256.0
_PATIENCE_S = 30.0
_AT_ONCE = 100
_A_PLACE = 250
"""Connections of one loopback address: the rate is limited by address."""
_BIG = "x" * 60_000
_ASKED = 64
_CONFIG = """[gateway]
anonymous = "allow"
[storage]
path = {state}
[[servers]]
id = "s0"
command = {command}
args = {args}
default_policy = "opt-out"
"""
Kind = Literal["header", "body", "frame"]


@dataclass
class Slow(Crowd):
    """After how many seconds each was cut off, by what it was slow with; and how many never were."""

    cut_s: dict[Kind, list[float]] = field(default_factory=dict)
    left: int = 0


@dataclass
class Leaving(Crowd):
    """What it took to come (seconds), what each took (KiB), and what was left afterwards."""

    connected: int = 0
    connect_s: float = 0.0
    each_kib: float = 0.0
    again: int = 0
    again_s: float = 0.0
    gone_s: float = 0.0
    log_lines: int = 0
    more_descriptors: int = 0


@dataclass
class Silent(Crowd):
    """How many were cut off, and what the gateway held for them all at most."""

    cut: int = 0
    left: int = 0
    most_mb: float = 0.0


class _Guest(asyncio.Protocol):
    """One connection. It answers pings where it has `manners`, and notes its end."""

    def __init__(self, *, manners: bool = True) -> None:
        self._manners = manners
        loop = asyncio.get_running_loop()
        self.up: asyncio.Future[bool] = loop.create_future()
        self.gone: asyncio.Future[float] = loop.create_future()
        self._head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        if not self.up.done():
            self._head += data
            if b"\r\n\r\n" in self._head:
                self.up.set_result(self._head.startswith(b"HTTP/1.1 101"))
            return
        if (
            self._manners and data[:1] == b"\x89"
        ):  # a ping is a frame of its own, and nothing else comes
            self.transport.write(b"\x8a\x80" + bytes(4))

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.up.done():
            self.up.set_result(False)
        if not self.gone.done():
            self.gone.set_result(time.monotonic())


async def _come(house: House, number: int, *, manners: bool = True, room: int = 0) -> _Guest:
    """Connect, from one of many loopback addresses."""
    loop = asyncio.get_running_loop()
    line = socket.socket()
    line.setblocking(False)
    if room:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    line.bind((f"127.0.1.{1 + number // _A_PLACE}", 0))
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await loop.sock_connect(line, house.place)
        _, guest = await loop.create_connection(lambda: _Guest(manners=manners), sock=line)
    except BaseException:
        line.close()
        raise
    return guest


def _asks_upgrade(house: House) -> bytes:
    return upgrade("{}:{}".format(*house.place), "", "/mcp", "mcp")


async def _come_in(house: House, number: int, *, manners: bool = True, room: int = 0) -> _Guest:
    """The same, as a WebSocket client."""
    guest = await _come(house, number, manners=manners, room=room)
    guest.transport.write(_asks_upgrade(house))
    await guest.up
    return guest


async def _all(count: int, comes: Callable[[int], Any]) -> list[_Guest]:
    """So many of them, some at a time; those that could not are left out."""
    turns = asyncio.Semaphore(_AT_ONCE)

    async def one(number: int) -> _Guest | None:
        async with turns:
            with contextlib.suppress(OSError, TimeoutError):
                return cast("_Guest", await comes(number))
        return None

    found = await asyncio.gather(*(one(number) for number in range(count)))
    return [guest for guest in found if guest is not None]


# -- the crowds --------------------------------------------------------------------------------------


async def slow(house: House, count: int, alone_s: float = ALONE_S) -> Slow:
    """So many that send a byte a second, a third of each kind."""
    found, kinds = Slow(), ("header", "body", "frame")

    async def one(number: int) -> None:
        kind = cast("Kind", kinds[number % 3])
        if kind == "frame":
            guest = await _come_in(house, number)
            guest.transport.write(b"\x81\xfe\x03\xe8" + bytes(4))
        else:
            guest = await _come(house, number)
            host = "{}:{}".format(*house.place)
            guest.transport.write(f"POST /mcp HTTP/1.1\r\nHost: {host}\r\n".encode())
            if kind == "body":
                guest.transport.write(
                    b"Content-Type: application/json\r\nContent-Length: 9999\r\n\r\n"
                )
            else:
                guest.transport.write(b"X-Slow: ")
        began = time.monotonic()
        while not guest.gone.done() and time.monotonic() - began < LATEST_S:
            if not guest.transport.is_closing():
                guest.transport.write(b"1")
            await asyncio.wait([guest.gone], timeout=1.0)
        if guest.gone.done():
            found.cut_s.setdefault(kind, []).append(guest.gone.result() - began)
        else:
            found.left += 1
            guest.transport.abort()

    async with good_client(house, found, alone_s):
        await asyncio.gather(*(one(number) for number in range(count)))
    return found


async def leaving(house: House, count: int, alone_s: float = ALONE_S) -> Leaving:
    """So many that come, hang up all at once, and come again."""
    found = Leaving()
    held = files(house.pid)
    async with good_client(house, found, alone_s):
        before, lines = resident_bytes(house.pid), _lines(house)
        began = time.monotonic()
        guests = await _all(count, lambda number: _come_in(house, number))
        found.connect_s = time.monotonic() - began
        found.connected = sum(guest.up.result() and not guest.gone.done() for guest in guests)
        found.each_kib = (resident_bytes(house.pid) - before) / 1024 / max(1, found.connected)
        _hang_up(guests)
        began = time.monotonic()
        # The good client has some, too.
        await _until(lambda: files(house.pid) <= held + count // 20)
        found.gone_s = time.monotonic() - began
        guests = await _all(count, lambda number: _come_in(house, number))
        found.again_s = time.monotonic() - began - found.gone_s
        found.again = sum(guest.up.result() and not guest.gone.done() for guest in guests)
        _hang_up(guests)
        await _until(lambda: files(house.pid) <= held + count // 20)
        found.log_lines = _lines(house) - lines
    await _until(lambda: files(house.pid) <= held + OF_OTHERS)
    found.more_descriptors = max(0, files(house.pid) - held - OF_OTHERS)
    return found


async def silent(
    house: House, count: int, alone_s: float = ALONE_S, *, reads_s: float = 0.0
) -> Silent:
    """So many that read nothing, not even pings; one in ten of them asks for four megabytes. With `reads_s` they do read, for
    so long: what their questions cost by themselves."""
    found, reads = Silent(), bool(reads_s)
    async with good_client(house, found, alone_s):
        before = resident_bytes(house.pid)
        room = 0 if reads else 4096
        guests = await _all(count, lambda number: _come_in(house, number, manners=reads, room=room))
        held = files(house.pid)
        for number, guest in enumerate(guests):
            if not reads:
                guest.transport.pause_reading()
            guest.transport.write(_asked(house, _ASKED if number % 10 == 0 else 1))
        until = time.monotonic() + (reads_s or LATEST_S / 2)
        while time.monotonic() < until and files(house.pid) > held - count:
            found.most_mb = max(found.most_mb, (resident_bytes(house.pid) - before) / 1e6)
            await asyncio.sleep(0.1)
        if not reads:
            # Only who reads hears of its end.
            for guest in guests:
                guest.transport.resume_reading()
            await asyncio.wait([guest.gone for guest in guests], timeout=LATEST_S / 2)
        found.cut = sum(guest.gone.done() for guest in guests)
        found.left = len(guests) - found.cut
        _hang_up(guests)
    return found


async def come_and_go(house: House, count: int) -> int:
    """So many WebSocket clients that come and hang up at once; how many came."""
    guests = await _all(count, lambda number: _come_in(house, number))
    _hang_up(guests)
    return len(guests)


def _asked(house: House, times: int) -> bytes:
    hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    params = {"name": house.tool, "arguments": {house.text: _BIG}}
    calls = [
        {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
        for number in range(1, times + 1)
    ]
    return b"".join(text_frame(json.dumps(one).encode()) for one in (hello, ready, *calls))


def _hang_up(guests: list[_Guest]) -> None:
    for guest in guests:
        guest.transport.abort()


async def _until(done: Callable[[], bool]) -> None:
    """Wait for it, at most for `_PATIENCE_S`."""
    until = time.monotonic() + _PATIENCE_S
    while not done() and time.monotonic() < until:  # noqa: ASYNC110 - what is awaited is another process's
        await asyncio.sleep(0.05)


def files(pid: int) -> int:
    """How many descriptors a process has open."""
    return sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())


def _lines(house: House) -> int:
    return house.log.read_text("utf-8", "replace").count("\n")


# -- the benchmark -----------------------------------------------------------------------------------


def house_in(folder: Path, stack: ExitStack) -> House:
    """A gateway in a folder of its own, for as long as the stack."""
    folder.mkdir()
    file = folder / "mgp.toml"
    command, *args = echo_stdio()
    words = {"command": json.dumps(command), "args": json.dumps(args)}
    file.write_text(_CONFIG.format(state=json.dumps(str(folder / "state")), **words), "utf-8")
    serve = gatewright("serve", "--config", str(file), "--port", "0")
    process: Process = stack.enter_context(started("gatewright", serve, folder))
    pids = [process.pid, *children(process.pid)]
    return House(process.url, pids[0], "s0__echo", "text", process.log)


def _p99(values: list[float]) -> float:
    return statistics.quantiles(values, n=100)[98] if len(values) > 1 else 0.0


def _good(name: str, found: Crowd, peer: str = "alone") -> Iterator[Row]:
    extras = {"calls": len(found.crowded_ms), "lost": len(found.lost), "first": found.lost[:1]}
    p99, alone = _p99(found.crowded_ms), _p99(found.alone_ms)
    yield Row(f"{name}.good_p99", p99, "ms", alone, peer, MOST_P99, "ratio <=", extras)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    del stack
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as inner:
        late = asyncio.run(slow(house_in(options.folder / "slow", inner), SLOW))
    for kind, most in (("header", 10.0), ("body", 30.0), ("frame", 45.0)):
        latest = max(late.cut_s.get(cast("Kind", kind), [LATEST_S]))
        yield Row(f"slow.{SLOW}.{kind}_cut", latest, "s", target=most + 2.0, test="ours <=")
    yield Row(f"slow.{SLOW}.left", late.left, "", target=0, test="ours <=")
    yield from _good(f"slow.{SLOW}", late)
    with ExitStack() as inner:
        left = asyncio.run(leaving(house_in(options.folder / "leaving", inner), LEAVING))
    name = f"leaving.{LEAVING}"
    yield Row(f"{name}.connected", left.connected, "", target=LEAVING, test="ours >=")
    yield Row(f"{name}.connect", left.connect_s, "s", target=15.0, test="ours <=")
    yield Row(f"{name}.each", left.each_kib, "KiB", target=EACH_KIB, test="ours <=")
    yield Row(f"{name}.again", left.again_s, "s", target=30.0, test="ours <=", extras={"connected": left.again, "gone_s": round(left.gone_s, 2)})  # fmt: skip
    yield Row(f"{name}.log_lines", left.log_lines, "", target=100, test="ours <=")
    yield Row(f"{name}.descriptors", left.more_descriptors, "more", target=0, test="ours <=")
    yield from _good(name, left)
    with ExitStack() as inner:
        there = house_in(options.folder / "silent", inner)
        polite = asyncio.run(silent(there, SILENT, reads_s=20.0))
        mute = asyncio.run(silent(there, SILENT))
    name = f"silent.{SILENT}"
    yield Row(
        f"{name}.cut", mute.cut, "", target=SILENT, test="ours >=", extras={"left": mute.left}
    )
    yield Row(f"{name}.held", mute.most_mb, "MB", polite.most_mb, "who read", SILENT * 2 * QUEUE_KIB / 1024, "ours <=")  # fmt: skip
    mute.alone_ms = polite.crowded_ms
    yield from _good(name, mute, "beside as many who read")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))

"""The load generator of `load.c` in Python, for machines without a C compiler: an own protocol on
each socket, prepared requests, the same command line and the same answer.

    python -m benchmarks.load.generate HOST PORT SECONDS WARMUP FILE
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import resource
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec

__all__ = ["PLACE", "Connection", "Load", "main", "read_requests", "right"]

PLACE = b"1000000000"
PATIENCE = 20.0


class Content(msgspec.Struct):
    """A content block."""

    text: str = ""


class Result(msgspec.Struct):
    """A tool result."""

    content: list[Content] = []
    is_error: bool = msgspec.field(name="isError", default=False)


class Reply(msgspec.Struct):
    """A JSON-RPC answer."""

    id: int | str | None = None
    """None also where it answers no request of JSON-RPC."""
    result: Result | None = None
    error: msgspec.Raw | None = None


_decode = msgspec.json.Decoder(Reply).decode


def right(body: bytes, number: int, named: bool = True) -> bool:
    """Whether a body (JSON, or an event stream with JSON in its `data:` lines) answers the call; `named`: by its id."""
    if not body.startswith(b"{"):
        lines = [line[5:] for line in body.splitlines() if line.startswith(b"data:")]
        return any(right(line.strip(), number, named) for line in lines if line.strip())
    try:
        reply = _decode(body)
    except msgspec.MsgspecError:
        return False
    if reply.id != (number if named else None) or reply.error is not None or reply.result is None:
        return False
    texts = [block.text for block in reply.result.content]
    return not reply.result.is_error and texts == [f"hello {number}"]


class Load:
    """What all connections of one run share: the numbers, the clock and what came of it."""

    def __init__(self, seconds: float, warmup: float, busy: int) -> None:
        self.numbers = itertools.count(int(PLACE) + 1)
        self.start = time.monotonic() + warmup
        self.stop = self.start + seconds
        self.taken: list[float] = []
        self.answered = 0
        self.errors = 0
        self.first_error = ""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._busy = busy

    def answer(
        self, sent: float, number: int, status: bytes, body: bytes, named: bool = True
    ) -> bool:
        """Note one answer; True while there should be another request."""
        at = time.monotonic()
        self.answered += 1
        if status != b"200" or not right(body, number, named):
            self.errors += 1
            self.first_error = self.first_error or f"call {number}: {status!r} {body[:250]!r}"
        if self.start <= at <= self.stop:
            self.taken.append(at - sent)
        if at < self.stop:
            return True
        self._busy -= 1
        if not self._busy and not self.done.done():
            self.done.set_result(None)
        return False

    def fail(self, why: Exception) -> None:
        """End the run: a connection broke."""
        if not self.done.done():
            self.done.set_exception(why)

    def report(self, seconds: float) -> dict[str, Any]:
        """The run in figures; percentiles are exact (nearest rank)."""
        used = resource.getrusage(resource.RUSAGE_SELF)
        self.taken.sort()
        figures: dict[str, Any] = {
            "generator": "python",
            "calls": len(self.taken),
            "all_calls": self.answered,
            "seconds": seconds,
            "cpu_seconds": used.ru_utime + used.ru_stime,
        }
        ranks = {"p50_us": 0.5, "p90_us": 0.9, "p99_us": 0.99, "p999_us": 0.999, "max_us": 1.0}
        for name, part in ranks.items():
            rank = max(1, math.ceil(part * len(self.taken)))
            figures[name] = self.taken[rank - 1] * 1e6 if self.taken else 0.0
        return figures | {"errors": self.errors, "first_error": self.first_error}


class Connection(asyncio.Protocol):
    """One connection with one request in flight."""

    def __init__(self, request: bytes, load: Load) -> None:
        self._parts = request.split(PLACE)
        self._named = b'"id":' + PLACE in request  # what is no JSON-RPC has no id
        self._load = load
        self._held = b""
        self._number = 0
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Asyncio's."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass
        self._next()

    def connection_lost(self, exc: Exception | None) -> None:
        """Asyncio's."""
        if not self._load.done.done():
            self._load.fail(exc or ConnectionResetError("the server closed a connection"))

    def data_received(self, data: bytes) -> None:
        """Asyncio's."""
        held = self._held = self._held + data if self._held else data
        head = held.find(b"\r\n\r\n")
        if head < 0:
            return
        body = _whole_body(held[:head].lower(), held[head + 4 :])
        if body is None:
            return
        self._held = b""
        if self._load.answer(self._sent, self._number, held[9:12], body, self._named):
            self._next()

    def _next(self) -> None:
        assert self._transport is not None
        self._number = next(self._load.numbers)
        request = str(self._number).encode().join(self._parts)
        self._sent = time.monotonic()
        self._transport.write(request)


def _whole_body(head: bytes, have: bytes) -> bytes | None:
    """The body of an answer, or None while bytes are missing. Chunks are joined."""
    at = head.find(b"\r\ncontent-length:")
    if at >= 0:
        end = head.find(b"\r\n", at + 2)
        size = int(head[at + 17 : end if end >= 0 else None])
        return have[:size] if len(have) >= size else None
    if b"\r\ntransfer-encoding: chunked" not in head:
        return b""
    if not have.endswith(b"0\r\n\r\n"):
        return None
    body = b""
    while have:
        size_text, _, have = have.partition(b"\r\n")
        size = int(size_text, 16)
        body, have = body + have[:size], have[size + 2 :]
    return body


def read_requests(path: Path) -> list[bytes]:
    """The requests of a file: each "LENGTH\\n" and so many bytes."""
    rest = path.read_bytes()
    found = []
    while rest:
        length, _, rest = rest.partition(b"\n")
        found.append(rest[: int(length)])
        rest = rest[int(length) :]
    return found


async def _run(host: str, port: int, seconds: float, warmup: float, path: Path) -> dict[str, Any]:
    requests = read_requests(path)
    load = Load(seconds, warmup, len(requests))
    loop = asyncio.get_running_loop()
    opened = [
        await loop.create_connection(partial(Connection, one, load), host, port) for one in requests
    ]
    await asyncio.wait_for(load.done, seconds + warmup + PATIENCE)
    for transport, _ in opened:
        transport.abort()
    return load.report(seconds)


def main(arguments: list[str]) -> int:
    """Run one load and print its figures as JSON."""
    host, port, seconds, warmup, path = arguments
    work = _run(host, int(port), float(seconds), float(warmup), Path(path))
    try:
        import uvloop  # noqa: PLC0415 - faster where it is
    except ImportError:
        figures = asyncio.run(work)
    else:
        figures = uvloop.run(work)
    print(json.dumps(figures))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

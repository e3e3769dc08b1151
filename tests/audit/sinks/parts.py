"""What the tests of sinks share: lines, a record to follow, a sink that can be broken."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from gatewright.audit.chain import GENESIS, seal
from gatewright.audit.sinks import Sink, SinkFailed, SinkPositions, Sinks
from gatewright.audit.trail import AuditLog
from tests.audit.parts import a_log, body, until

__all__ = ["Fragile", "Trail", "lines", "plain"]

_BEGIN = datetime(2026, 9, 21, 12, tzinfo=UTC)


def lines(first: int, last: int, *, apart_s: float = 0.0) -> list[bytes]:
    """Recorded lines of these numbers, each so many seconds after the one before."""
    found = []
    for seq in range(first, last + 1):
        moment = (_BEGIN + timedelta(seconds=apart_s * seq)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        id = f"01998000-0000-7000-a000-{seq:012d}"
        found.append(seal(seq, [body(seq, id=id, time=moment)], GENESIS)[0].removesuffix(b"\n"))
    return found


def plain(line: bytes) -> bytes:
    """A line as it is recorded."""
    return line + b"\n"


class Fragile:
    """A sink that keeps what it gets, until it is told to fail."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self.down = False
        self.tries = 0
        self.closed = False

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """Keep them."""
        self.tries += 1
        if self.down:
            raise SinkFailed("it is down")
        self.got += lines

    async def close(self) -> None:
        """Remember that."""
        self.closed = True


class Trail:
    """A record with sinks. An async context."""

    def __init__(self, folder: Path, **sinks: Sink) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.positions = SinkPositions(folder, sinks)
        self.sinks = Sinks(folder, sinks, self.positions)

    async def __aenter__(self) -> Trail:
        self.log: AuditLog = await asyncio.to_thread(a_log, self.folder)
        self.sinks.start()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.sinks.close()
        await self.log.close()

    def write(self, count: int) -> None:
        """So many records more."""
        for _ in range(count):
            self.log.event("com.example.made", details={"number": self.log.written + 1})

    async def drained(self) -> None:
        """Until every sink has everything."""
        await until(lambda: self.positions.taken() == self.log.written, 40)

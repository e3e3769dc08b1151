"""An MCP echo server on stdin and stdout, as fast as plain Python can be.

It reads whatever the pipe holds, answers every line of it, and writes all those answers at once:
one read and one write a batch, however many calls wait. No event loop; `sleep` uses the timeout of
`select`, which is touched only while something sleeps.

    python benchmarks/servers/echo_stdio.py [--era both|legacy|modern] [--tools N] [--revision 2025-06-18]
"""

from __future__ import annotations

import argparse
import heapq
import os
import select
import sys
import time
from pathlib import Path

if __package__ in {None, ""}:  # started as a file, as a gateway starts its children
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks.servers.echo import LEGACY, Echo, Later

__all__ = ["main", "serve"]

CHUNK = 1 << 18


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


class _Sleepers:
    """Answers that are not due yet."""

    def __init__(self) -> None:
        self._waiting: list[tuple[float, bytes]] = []

    def sort(self, replies: list[bytes | Later | None]) -> list[bytes]:
        """Those that are due now, sleepers that woke up included."""
        due = [reply for reply in replies if isinstance(reply, bytes)]
        for reply in replies:
            if isinstance(reply, tuple):
                heapq.heappush(self._waiting, (time.monotonic() + reply[0], reply[1]))
        while self._waiting and self._waiting[0][0] <= time.monotonic():
            due.append(heapq.heappop(self._waiting)[1])
        return due

    def wait(self, source: int) -> bool:
        """Whether `source` has something to read; False when a sleeper is due before."""
        if not self._waiting:
            return True  # nothing to wake up for: reading may block
        seconds = max(0.0, self._waiting[0][0] - time.monotonic())
        return bool(select.select([source], [], [], seconds)[0])


def serve(echo: Echo, source: int = 0, sink: int = 1) -> None:
    """Answer everything that `source` says on `sink`, until `source` ends."""
    answer = echo.answer
    sleepers = _Sleepers()
    rest = b""
    while True:
        lines: list[bytes] = []
        if sleepers.wait(source):
            chunk = os.read(source, CHUNK)
            if not chunk:
                return
            *lines, rest = (rest + chunk).split(b"\n")
        out = sleepers.sort([answer(line) for line in lines])
        if out:
            out.append(b"")
            _write(sink, b"\n".join(out))


def main(arguments: list[str] | None = None) -> None:
    """Serve until stdin ends."""
    parser = argparse.ArgumentParser(description="echo over stdio")
    parser.add_argument("--era", choices=("both", "legacy", "modern"), default="both")
    parser.add_argument("--tools", type=int, default=2)
    parser.add_argument("--revision", default=LEGACY, help="of the legacy era")
    options = parser.parse_args(arguments)
    serve(Echo(options.era, options.tools, options.revision))


if __name__ == "__main__":
    main()

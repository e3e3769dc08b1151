"""`LogLines`: a child's stderr as log lines, cut, without control characters; excess ones are only counted, the last 5 emitted at its end.

Standard error is where MCP servers log, and where a broken or hostile one can write without end. So a line is cut, a
flood is counted instead of kept, and control characters, which could repaint the terminal of whoever reads the
log, are taken out.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from gatewright.patterns import Pattern
from gatewright.transport.base import Limits

__all__ = ["LAST_LINES", "LogLines"]

log = logging.getLogger(__name__)

_COLOUR = Pattern(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_CONTROL = Pattern(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")

_MORE = "…"

LAST_LINES = 5
"""So many of the lines that a flood left out are told when it ends: what a process says last is why it ended."""

LOOKS = 10
"""So many lines are looked at for each one that may be shown: a blank one is not shown, but costs as much to look at."""


class LogLines:
    """Bytes in, text lines out through `emit`. `now` is any clock in seconds that does not go back."""

    def __init__(self, limits: Limits, emit: Callable[[str], None]) -> None:
        self._length = limits.stderr_line_bytes
        self._rate = limits.stderr_lines_per_s
        self._emit = emit
        self._line = bytearray()
        self._cut = False
        self._since = float("-inf")
        self._left = 0
        self._looks = 0
        self._dropped = 0
        self._tail: deque[bytes] = deque(maxlen=LAST_LINES)

    def feed(self, data: bytes, now: float) -> None:
        """Take the next bytes and emit the lines they complete."""
        if now - self._since >= 1:
            self._since = now
            self._left = self._rate
            self._looks = self._rate * LOOKS
            self._tell_dropped()
        at = 0
        while self._left > 0:
            end = data.find(b"\n", at)
            if end < 0:
                self._grow(data[at:])
                return
            self._grow(data[at:end])
            self._complete()
            self._looks -= 1
            if not self._looks:
                self._left = 0
            at = end + 1
        self._grow(self._flood(data[at:]))

    def end(self) -> None:
        """No more bytes: emit what is left."""
        if self._line:
            self._complete()
        last = list(self._tail)
        self._dropped = max(0, self._dropped - len(last))
        self._tell_dropped()
        for line in last:
            self._say(_shown(line))

    def _flood(self, data: bytes) -> bytes:
        """The cheap way through what nobody will see: count the lines, and return what is after the last of them."""
        ended = data.count(b"\n")
        if ended:
            self._dropped += ended
            self._remember(data, ended)
            self._line.clear()
            self._cut = False
        return data[data.rfind(b"\n") + 1 :]

    def _remember(self, data: bytes, ended: int) -> None:
        """The last lines of a piece that ends so many, each from its beginning."""
        end, kept = data.rfind(b"\n"), deque[bytes]()
        for number in range(1, min(ended, LAST_LINES) + 1):
            start = data.rfind(b"\n", 0, end) + 1
            line, cut = data[start : min(end, start + self._length + 1)], False
            if number == ended:  # the first one has its beginning in earlier pieces
                line, cut = bytes(self._line) + line, self._cut
            kept.appendleft(self._marked(line, cut=cut))
            end = start - 1
        self._tail.extend(line for line in kept if _shown(line).strip())

    def _marked(self, line: bytes, *, cut: bool) -> bytes:
        """A line in its length, with a mark where there was more of it."""
        if not cut and len(line) <= self._length:
            return line
        return line[: self._length].rstrip(b"\r") + _MORE.encode()

    def _grow(self, piece: bytes) -> None:
        room = self._length - len(self._line)
        self._cut = self._cut or len(piece) > room
        self._line += piece[:room]

    def _complete(self) -> None:
        line = self._marked(bytes(self._line), cut=self._cut)
        text = _shown(line)
        self._line.clear()
        self._cut = False
        if not text:
            return
        if self._left <= 0:
            self._dropped += 1
            self._tail.append(line)
            return
        self._left -= 1
        self._say(text)

    def _tell_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        self._tail.clear()
        if dropped:
            self._say(f"({dropped} more lines on standard error were left out)")

    def _say(self, text: str) -> None:
        try:
            self._emit(text)
        except Exception:
            log.exception("the taker of a child's log lines raised")


def _shown(line: bytes | bytearray) -> str:
    return _CONTROL.sub("\ufffd", _COLOUR.sub("", line.decode("utf-8", "replace").rstrip("\r")))

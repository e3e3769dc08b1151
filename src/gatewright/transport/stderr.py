"""A child's standard error as log lines: bounded in length and in number, and harmless on a terminal.

Standard error is where MCP servers log, and where a broken or hostile one can write without end. So a line is cut, a
flood is counted instead of kept, and control characters, which could repaint the terminal of whoever reads the
log, are taken out.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from gatewright.patterns import Pattern
from gatewright.transport.base import Limits

__all__ = ["LogLines"]

log = logging.getLogger(__name__)

_COLOUR = Pattern(r"\x1b\[[0-9;:?]*[ -/]*[@-~]")
_CONTROL = Pattern(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]")


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
        self._dropped = 0

    def feed(self, data: bytes, now: float) -> None:
        """Take the next bytes and emit the lines they complete."""
        if now - self._since >= 1:
            self._since = now
            self._left = self._rate
            self._tell_dropped()
        *lines, rest = data.split(b"\n") if self._left else self._flood(data)
        for line in lines:
            self._grow(line)
            self._complete()
        self._grow(rest)

    def end(self) -> None:
        """No more bytes: emit what is left."""
        if self._line:
            self._complete()
        self._tell_dropped()

    def _flood(self, data: bytes) -> list[bytes]:
        """The cheap way through what nobody will see: count the lines, keep the last one's beginning."""
        ended = data.count(b"\n")
        if ended:
            self._dropped += ended
            self._line.clear()
            self._cut = False
        return [data[data.rfind(b"\n") + 1 :]]

    def _grow(self, piece: bytes) -> None:
        room = self._length - len(self._line)
        self._cut = self._cut or len(piece) > room
        self._line += piece[:room]

    def _complete(self) -> None:
        text = self._line.decode("utf-8", "replace").rstrip("\r") + ("…" if self._cut else "")
        self._line.clear()
        self._cut = False
        if not text:
            return
        if self._left <= 0:
            self._dropped += 1
            return
        self._left -= 1
        self._say(_CONTROL.sub("\ufffd", _COLOUR.sub("", text)))

    def _tell_dropped(self) -> None:
        dropped, self._dropped = self._dropped, 0
        if dropped:
            self._say(f"({dropped} more lines on standard error were left out)")

    def _say(self, text: str) -> None:
        try:
            self._emit(text)
        except Exception:
            log.exception("the taker of a child's log lines raised")

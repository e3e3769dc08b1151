"""`Recent`: the newest audit records, in memory, as they are written; tells the change feed which console topics they touch."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from gatewright.audit.trail import AuditLog
from gatewright.console.changes import TOPICS

__all__ = ["BYTES", "KEPT", "Recent", "topics_of"]

KEPT = 5_000
"""Records, at most."""
BYTES = 32 * 1024 * 1024
"""Of them together: one may have as many as an agent wants, up to what a record has at most."""
_LOOK_S = 0.05
"""Between two looks at what was written; also while no page is open: one that has just been opened waits for none."""
_MOST = 500
"""Records that one look reads for their topics; with more, every topic of calls counts as changed."""

_BUSY_S = 0.5
"""Between two times that the topics of calls are told."""
_MARK = b'"event_type":"'
_KIND_AT = len('{"id":"","time":"","event_type":"') + 36 + 24
"""Where the kind stands in a record, behind an id and a time: nearly all of them are ends of calls, and known by one comparison."""
_ENDED = b'TOOL_EXECUTED"'
_ENDED_AT = _KIND_AT + len(_ENDED)
_OF_A_CALL = ("live", "sessions", "audit", "limits")
_TOPICS: Mapping[str, tuple[str, ...]] = {
    "dev.gatewright.approval": ("inbox", "audit"),
    "SERVER_CONNECTED": ("servers", "tools", "health", "audit"),
    "SERVER_DISCONNECTED": ("servers", "tools", "health", "audit"),
    "dev.gatewright.server": ("servers", "tools", "health", "audit"),
    "dev.gatewright.pin": ("inbox", "servers", "tools", "audit"),
    "dev.gatewright.tool": ("inbox", "servers", "tools", "audit"),
    "ACCESS_GRANTED": ("access", "audit"),
    "ACCESS_REVOKED": ("access", "audit"),
    "dev.gatewright.key": ("access", "audit"),
    "dev.gatewright.config": ("access", "servers", "tools", "limits", "health", "audit"),
    "dev.gatewright.console": ("sessions", "audit"),
    "dev.gatewright.room": ("rooms", "audit"),
}


def topics_of(event_type: str) -> tuple[str, ...]:
    """What of the console shows records of this kind."""
    prefix = ".".join(event_type.split(".")[:3])
    return _TOPICS.get(prefix, _OF_A_CALL)


def _kind(line: bytes) -> str:
    # The members before it are an id and a time: no text of anybody's stands there.
    begin = line.index(_MARK) + len(_MARK)
    return line[begin : line.index(b'"', begin)].decode()


class Recent:
    """Listens to the record. What it does for a record while nobody looks is to keep the line."""

    def __init__(self, audit: AuditLog) -> None:
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self.count = 0
        """Records that were written since the gateway started."""
        self._end = audit.heard.listen(self._heard)

    def _heard(self, line: bytes) -> None:
        lines = self._lines
        lines.append(line)
        self._bytes += len(line)
        while len(lines) > KEPT or self._bytes > BYTES:
            self._bytes -= len(lines.popleft())
        self.count += 1

    def close(self) -> None:
        """Hear no more."""
        self._end()

    def lines(self) -> Iterator[bytes]:
        """The newest records as they were written, newest first: those of this moment, whatever is written meanwhile."""
        return reversed(tuple(self._lines))

    def newest(self, most: int, fits: Callable[[dict[str, Any]], bool]) -> Iterator[dict[str, Any]]:
        """The newest records that fit, decoded, newest first; at most `most`."""
        for line in self.lines():
            if most <= 0:
                return
            record: dict[str, Any] = msgspec.json.decode(line)
            if fits(record):
                most -= 1
                yield record

    async def follow(self, tell: Callable[..., None], needed: Callable[[], bool]) -> None:
        """Tell the topics of what is written, several times a second while somebody needs it. Until it is cancelled."""
        told, busy_at = self.count, float("-inf")
        busy: set[str] = set()
        while True:
            await asyncio.sleep(_LOOK_S)
            new, told = self.count - told, self.count
            if not needed():
                # Nobody hears it now. A page that was made before, or that lost its connection, finds by the numbers that it is behind.
                if new or busy:
                    tell(*TOPICS)
                busy.clear()
                continue
            topics = self._topics(new)
            # A call by itself is told at once; of thousands a second, twice a second is enough to look by.
            busy |= topics.intersection(_OF_A_CALL)
            topics.difference_update(_OF_A_CALL)
            now = asyncio.get_running_loop().time()
            if busy and now - busy_at >= _BUSY_S:
                topics |= busy
                busy.clear()
                busy_at = now
            if topics:
                tell(*topics)

    def _topics(self, new: int) -> set[str]:
        """Those of the last records, of which so many are new."""
        topics: set[str] = set(_OF_A_CALL) if new > _MOST else set()
        lines = self._lines
        for at in range(max(0, len(lines) - min(new, _MOST)), len(lines)):
            line = lines[at]
            if line[_KIND_AT:_ENDED_AT] == _ENDED:
                topics.update(_OF_A_CALL)
            else:
                topics.update(topics_of(_kind(line)))
        return topics

"""`Recent`: buffer of the newest audit records in memory; tells the change feed which console topics each of them affects."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from gatewright.audit.trail import AuditLog
from gatewright.console.changes import TOPICS

__all__ = ["BYTES", "KEPT", "Recent", "topics_of"]

KEPT = 5_000
"""Records, at most."""
BYTES = 32 * 1024 * 1024
"""Of them together: one may have as many as an agent wants, up to what a record has at most."""
_LOOK_S = 0.05
"""Between two looks at what was written; also while no page is open: one that has just been opened waits for none."""
_BUSY_S: Mapping[str, float] = {"live": 0.5, "sessions": 2.0, "audit": 5.0, "limits": 2.0}
"""The topics of calls, and how long it is at least between two times that each is told: of thousands of calls a second, a page that
counts them over looks less often than one that shows the newest."""
_CROWD, _CROWDED_S = 50, 2.0
"""From so many records between two looks on, a thousand a second, nobody reads the newest one by one: no topic of calls is told more often
than this, and what open pages fetch grows no further with the calls."""
_MARK = b'"event_type":"'
_KIND_AT = len('{"id":"","time":"","event_type":"') + 36 + 24
"""Where the kind stands in a record, behind an id and a time: nearly all of them are ends of calls, and known by one comparison."""
_ENDED = b'TOOL_EXECUTED"'
_ENDED_AT = _KIND_AT + len(_ENDED)
_OF_A_CALL = tuple(_BUSY_S)
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


@lru_cache(maxsize=256)
def topics_of(event_type: str) -> tuple[str, ...]:
    """What of the console shows records of this kind."""
    prefix = ".".join(event_type.split(".")[:3])
    return _TOPICS.get(prefix, _OF_A_CALL)


def _kind(line: bytes) -> str:
    # The members before it are an id and a time: no text of anybody's stands there.
    begin = line.find(_MARK) + len(_MARK)
    return line[begin : line.find(b'"', begin)].decode("utf-8", "replace")


class Recent:
    """Listens to the record. What it does for a record while nobody looks is to keep the line."""

    def __init__(self, audit: AuditLog) -> None:
        self._lines: deque[bytes] = deque()
        self._bytes = 0
        self._looked = 0
        """How many had been written when `follow` looked last."""
        self._made: dict[int, Any] = {}
        """What readers made of lines, by their numbers."""
        self.count = 0
        """Records that were written since the gateway started."""
        self._end = audit.turns.listen(self._heard)

    def _heard(self, written: Sequence[bytes]) -> None:
        lines = self._lines
        lines += written
        self._bytes += sum(map(len, written))
        self.count += len(written)
        while len(lines) > KEPT or self._bytes > BYTES:
            self._bytes -= len(lines.popleft())

    def _topics(self) -> set[str]:
        """Of what was written since this was asked last; all of them where more was written than is kept."""
        lines, new = self._lines, self.count - self._looked
        self._looked = self.count
        if new > len(lines):
            return set(TOPICS)
        topics: set[str] = set()
        for line in itertools.islice(reversed(lines), new):
            if line[_KIND_AT:_ENDED_AT] != _ENDED:
                topics.update(topics_of(_kind(line)))
            elif "live" not in topics:
                topics.update(_OF_A_CALL)
        return topics

    def close(self) -> None:
        """Hear no more."""
        self._end()

    def lines(self) -> Iterator[bytes]:
        """The newest records as they were written, newest first: those of this moment, whatever is written meanwhile."""
        return reversed(tuple(self._lines))

    def numbered(self) -> Iterator[tuple[int, bytes]]:
        """The same, each with its number: how many were written up to it since the gateway started."""
        return zip(itertools.count(self.count, -1), self.lines(), strict=False)

    def made(self) -> dict[int, Any]:
        """What readers make of lines, by their numbers, so that each line is read once for all of them: theirs to add to. What is kept no
        more goes."""
        first = self.count - len(self._lines)
        if len(self._made) > KEPT or (self._made and min(self._made) <= first):
            self._made = {number: one for number, one in self._made.items() if number > first}
        return self._made

    async def follow(self, tell: Callable[..., None], needed: Callable[[], bool]) -> None:
        """Tell the topics of what is written, several times a second while somebody needs it. Until it is cancelled."""
        told_at = dict.fromkeys(_OF_A_CALL, float("-inf"))
        late: set[str] = set()
        """Topics of calls that wait until they may be told again."""
        self._looked = self.count
        while True:
            await asyncio.sleep(_LOOK_S)
            if not needed():
                # Nobody hears it now. A page that was made before, or that lost its connection, finds by the numbers that it is behind.
                if late or self.count != self._looked:
                    tell(*TOPICS)
                late.clear()
                self._looked = self.count
                continue
            written = self.count - self._looked
            new = self._topics()
            now = asyncio.get_running_loop().time()
            late |= new.intersection(_OF_A_CALL)
            least_s = _CROWDED_S if written >= _CROWD else 0.0
            due = {one for one in late if now - told_at[one] >= max(_BUSY_S[one], least_s)}
            late -= due
            told_at.update(dict.fromkeys(due, now))
            new.difference_update(_OF_A_CALL)
            if due or new:
                tell(*due, *new)

"""`BacklogShares`: bounds the unread bytes that one caller may have queued to a server connection, so that others find room.

A caller may have as much waiting as is still free: alone a half, of two a third each, and so on. Whoever comes last finds some room, however
many came before, and nothing has to be known of how many there will be.
"""

from __future__ import annotations

from collections import deque

from gatewright.call import Who

__all__ = ["BacklogShares"]


class BacklogShares:
    """Of one connection, on which messages are taken in the order in which they were sent."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Who, int]] = deque()
        self._size = 0
        self._of: dict[Who, int] = {}

    def allows(self, who: Who, size: int, behind: int, most: int) -> bool:
        """Whether a caller may send so many bytes, where `behind` wait of all and `most` may."""
        self._taken(behind)
        return self._of.get(who, 0) + size <= most - behind

    def sent(self, who: Who, size: int) -> None:
        """A caller's message waits."""
        self._waiting.append((who, size))
        self._size += size
        self._of[who] = self._of.get(who, 0) + size

    def _taken(self, behind: int) -> None:
        """Forget what was read: no more than `behind` waits, and the oldest is read first."""
        while self._size > behind:
            who, size = self._waiting.popleft()
            self._size -= size
            left = self._of[who] - size
            if left:
                self._of[who] = left
            else:
                del self._of[who]

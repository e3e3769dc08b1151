"""`BacklogShares`: bounds the unread bytes that one caller may have queued to a server connection, so that others find room.

A caller may have as much waiting as is still free: alone a half, of two a third each, and so on. Whoever comes last finds some room, however
many came before, and nothing has to be known of how many there will be.

Messages are read in the order in which they were sent. Over HTTP+SSE a request may be posted and not accepted until it is done: those end in any
order, each by its number.
"""

from __future__ import annotations

from collections import OrderedDict

from gatewright.call import Who

__all__ = ["BacklogShares"]


class BacklogShares:
    """Of one connection."""

    def __init__(self) -> None:
        self.unaccepted = 0
        """The bytes of requests that are posted and not accepted yet."""
        self._waiting: OrderedDict[object, tuple[Who, int]] = OrderedDict()
        self._size = 0
        self._late: dict[int, tuple[Who, int]] = {}
        self._of: dict[Who, int] = {}

    def allows(self, who: Who, size: int, behind: int, most: int) -> bool:
        """Whether a caller may send so many bytes, where `behind` wait of all and `most` may."""
        self._taken(behind)
        return self._of.get(who, 0) + size <= most - behind

    def sent(self, who: Who, size: int, ident: int | None = None) -> None:
        """A caller's message waits, the request of this number where it is one."""
        self._waiting[object() if ident is None else ident] = who, size
        self._size += size
        self._of[who] = self._of.get(who, 0) + size

    def late(self, ident: int, late: bool) -> None:
        """A request is posted and not accepted yet; or, where it is not `late` or no longer, its POST has ended."""
        if (found := self._waiting.pop(ident, None)) is not None:
            self._size -= found[1]
            if late:
                self._late[ident] = found
                self.unaccepted += found[1]
            else:
                self._free(*found)
        elif (ended := self._late.pop(ident, None)) is not None:
            self.unaccepted -= ended[1]
            self._free(*ended)

    def _taken(self, behind: int) -> None:
        """Forget what was read: no more than `behind` waits, and of what is not posted yet the oldest is read first."""
        while self._size > behind - self.unaccepted:
            _, (who, size) = self._waiting.popitem(last=False)
            self._size -= size
            self._free(who, size)

    def _free(self, who: Who, size: int) -> None:
        left = self._of[who] - size
        if left:
            self._of[who] = left
        else:
            del self._of[who]

"""Limits a process's open connections, in total and per client address; closes idle ones to make room for new ones.

A process may open so many files and no more; whoever opens connections until then ends children, databases and all other callers with
it. So what listens has a share, most of which no single address can take. Where that is taken, a connection that
waits for nothing but its next request makes room for the one that comes, as HTTP allows (RFC 9112 §9.5): the longest silent of
some, and one that never asked anything before any other. Work under way is never ended for a newcomer, nor is an answer that is still
being written, unless its client does not take it; and whose request may still
be on its way, because it has just come or has sent half a head, is ended only where nobody else can be.

The addresses of this machine (loopback, Unix sockets) have no bound of their own: a proxy stands there, with everybody behind it.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import resource
import time
from collections.abc import Callable
from itertools import islice
from typing import Protocol, cast

from gatewright.transport.base import Limits
from gatewright.transport.deadline import Deadline

__all__ = ["GRACE_S", "LOOKED_AT", "Holder", "Seat", "Seats", "Silent", "Waits", "share_of"]

log = logging.getLogger("gatewright.connections")

LOOKED_AT = 128
"""So many connections are asked whether they are idle, for one that comes."""
GRACE_S = 2.0
"""So long a request may be on its way: a round trip or two for TLS, one for itself, or a lost packet."""
MOST = 100_000
RESERVED = 128, 2048
"""Descriptors that are never given to connections: a quarter of all, but at least and at most so many."""
_QUIET_S = 10.0
_LOOPBACK = ("127.", "::")  # `accept.place_of` counts IPv6 by networks of 64 bits: ::1 is in "::"


class Waits(enum.Enum):
    """What an idle connection waits for."""

    FIRST = enum.auto()
    """Its first request, or the rest of that one's head."""
    NEXT = enum.auto()
    """Another request: everything that it asked is answered."""
    REST = enum.auto()
    """The rest of another request, part of which is there."""


_FIRST, _NEXT, _REST = (
    Waits  # a member looked up in its class costs more than all else that is asked of a connection
)


class Holder(Protocol):
    """The connection in a `Seat`, which may be closed to make room while it is idle."""

    def idle_since(self) -> tuple[Waits, float] | None:
        """What it waits for, and since when (seconds of the event loop). None: it is not idle."""

    def give_up(self) -> None:
        """Close it, for one that comes."""


def share_of(files: int) -> int:
    """How many connections may be open in all, for a process that may open so many files (-1: any number)."""
    if files < 0 or files == resource.RLIM_INFINITY:
        return MOST
    least, most = RESERVED
    return max(1, min(MOST, files - min(max(files // 4, least), most)))


class Silent:
    """An HTTP connection as a `Holder`."""

    __slots__ = ("_asked", "_clock", "_deadline", "_limits", "_taking", "_transport")

    def __init__(
        self,
        deadline: Deadline,
        transport: asyncio.BaseTransport,
        asked: Callable[[], bool | None],
        limits: Limits,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`deadline` awaits a `head` or a `body`, is `idle`, or lets it `linger`. `asked` says whether a request was ever made; None:
        one is under way. `clock` is that of the event loop."""
        self._deadline = deadline
        self._transport = cast("asyncio.Transport", transport)
        self._asked = asked
        self._limits = limits
        self._clock = clock
        self._taking: float | None = None
        """Since when the rest of an answer was seen to wait for the client; of more than `queue_bytes`, `Patience` sees to that."""

    def idle_since(self) -> tuple[Waits, float] | None:
        """Since its last answer, or since it has owed a request or the rest of one, or does not take the rest of an answer."""
        awaited, since, asked = self._deadline.awaited, self._deadline.since, self._asked()
        if asked is None:
            return None
        if left := self._transport.get_write_buffer_size():
            return self._untaken(left, since)
        self._taking = None
        if not awaited:
            return None
        if awaited in ("idle", "linger"):
            return _NEXT, since
        return (_REST if asked else _FIRST), since

    def _untaken(self, left: int, answered: float) -> tuple[Waits, float] | None:
        """What is left of an answer waits: as long as a client may take for so much (`write_queue.Patience`) nobody ends that.
        A client whose answer were cut off would ask again, and what it asked for would be done twice."""
        now = self._clock()
        if left > self._limits.queue_bytes or self._taking is None or self._taking < answered:
            # `Patience` has the clock, or it is seen for the first time, or it is another answer.
            self._taking = now
        return None if now - self._taking < self._limits.patience_s else (_NEXT, self._taking)

    def give_up(self) -> None:
        """Close it at once."""
        self._transport.abort()


class Seat:
    """What one connection holds, until it leaves."""

    __slots__ = ("_seats", "holder", "place")

    def __init__(self, seats: Seats, place: str) -> None:
        self._seats = seats
        self.place = place
        self.holder: Holder | None = None

    def leave(self) -> None:
        """The connection is gone. May be said twice."""
        self._seats.left(self)


class Seats:
    """The connections of all listeners of a process."""

    def __init__(
        self, most: int = 0, of_one: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """`most` in all; 0 means what this process may open, less a reserve. `of_one` address; 0 means half of all, and for addresses
        of this machine all. `clock` is that of the event loop."""
        self.most = most or share_of(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        self.refused = 0
        """Connections for which there was no room."""
        self.made_room = 0
        """Idle ones that were closed for others."""
        self._of_one = of_one
        self._clock = clock
        self._all: dict[Seat, None] = {}
        self._of: dict[str, dict[Seat, None]] = {}
        self._told = float("-inf")

    def __len__(self) -> int:
        return len(self._all)

    def of_one(self, place: str) -> int:
        """How many one address may have."""
        if self._of_one:
            return self._of_one if place else self.most
        local = not place or place.startswith(_LOOPBACK[0]) or place == _LOOPBACK[1]
        return self.most if local else max(1, self.most // 2)

    def take(self, place: str) -> Seat | None:
        """A seat for a connection from a place (`accept.place_of`); None where there is none, and `why` says so."""
        # For one address only its own connections make room (decision 0054).
        own = self._of.get(place, {})
        if (len(own) >= self.of_one(place) and not self._free(own)) or (
            len(self._all) >= self.most and not self.free()
        ):
            self._refuse(place)
            return None
        seat = Seat(self, place)
        self._all[seat] = None
        self._of.setdefault(place, {})[seat] = None
        return seat

    def why(self, place: str) -> str:
        """Why a place was refused, in words for the client and for the log."""
        if len(self._all) >= self.most:
            return f"{self.most} connections are open, which is as many as may be (limits.connections, ulimit -n)"
        return f"{self.of_one(place)} connections of one address are open (limits.connections_per_address)"

    def free(self) -> bool:
        """Close an idle connection, whoever has it; whether one was found."""
        return self._free(self._all)

    def left(self, seat: Seat) -> None:
        """A seat is free again."""
        self._all.pop(seat, None)
        own = self._of.get(seat.place)
        if own is not None:
            own.pop(seat, None)
            if not own:
                del self._of[seat.place]
        seat.holder = None

    def _free(self, among: dict[Seat, None]) -> bool:
        """Ask those that were not asked for the longest time, and close the one that is missed least."""
        best: tuple[tuple[int, float], Seat] | None = None
        now = self._clock()
        for seat in list(islice(among, LOOKED_AT)):
            among[seat] = among.pop(seat)  # it is asked again when all others were
            idle = None if seat.holder is None else seat.holder.idle_since()
            if idle is None:  # work under way, or a WebSocket
                continue
            missed = _missed(*idle, now)
            if best is None or missed < best[0]:
                best = missed, seat
        if best is None:
            return False
        seat, self.made_room = best[1], self.made_room + 1
        holder = seat.holder
        # Now: the connection itself leaves in a later turn, and the newcomer needs the seat in this one.
        self.left(seat)
        if holder is not None:
            holder.give_up()
        return True

    def _refuse(self, place: str) -> None:
        self.refused += 1
        now = self._clock()
        if now - self._told >= _QUIET_S:
            self._told = now
            log.warning(
                "a connection from %s was refused: %s; %d were refused until now, and %d idle ones closed for others",
                place or "a Unix socket",
                self.why(place),
                self.refused,
                self.made_room,
            )


def _missed(waits: Waits, since: float, now: float) -> tuple[int, float]:
    """How much an idle connection would be missed, least first."""
    if waits is not _NEXT and now - since < GRACE_S:
        return 2, since
    return (0 if waits is _FIRST else 1), since

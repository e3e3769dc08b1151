"""`Listener`: accepts a socket's TCP, Unix or TLS connections, few a turn; refuses beyond limits (`ArrivalRates`); waits when files run out.

An accepted connection costs the loop some tenths of a millisecond, with TLS some milliseconds, and all of that before anybody is
known. The event loop's own `create_server` takes all that wait, which can be two thousand in one step, and tells nobody where they come
from before the handshake. Here at most `A_TURN` are taken at a time, and who comes too often is sent away before a byte is read.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import math
import socket
import ssl
from collections.abc import Callable
from functools import partial
from ipaddress import IPv6Address
from typing import Any

from gatewright.transport.connection_limits import Seat, Seats, Waits
from gatewright.transport.tls import Pace, secured

__all__ = ["A_HANDSHAKE", "A_TURN", "KNOWN", "ArrivalRates", "Listener", "place_of"]

log = logging.getLogger(__name__)

A_TURN = 4
"""Connections that are taken before everything else has its turn."""
KNOWN = 4096
"""Addresses that are remembered; the one that came least lately is forgotten first."""
A_HANDSHAKE = 8
"""So many connections is one with TLS counted as: signing takes a millisecond with RSA keys of 2048 bits, five with 4096."""
_HANDSHAKES, _HELD_S = 2, 0.01
"""So many handshakes are begun at a time; one that waits for its client for longer than this lets the next begin."""
_RETRY_S = 1.0
_FREED = 16
"""Idle connections that are closed each time that nothing can be opened: so many newcomers have room until the next look."""
_LINGER_S, _LEAVING, _REQUEST_BYTES = 0.2, 64, 64 * 1024
"""To close with a request unread would destroy what was said. So many connections are kept for that."""
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


def place_of(address: Any) -> str:
    """Whom a peer's address is counted for: itself, and for IPv6 its network of 64 bits, which one host has all of.
    Empty where there is none, as for a Unix socket."""
    if not isinstance(address, tuple) or not address:
        return ""
    host = str(address[0])
    if len(address) == 2:
        return host
    found = IPv6Address(host.partition("%")[0])
    return str(found.ipv4_mapped or IPv6Address(int(found) >> 64 << 64))


class ArrivalRates:
    """How many connections each address may still open. Shared by all sockets of a server."""

    def __init__(self, per_s: float, burst: float, seats: Seats | None = None) -> None:
        """`seats` are those of the process, where other listeners share them."""
        self.seats = Seats() if seats is None else seats
        self.refused = 0
        """Connections that were sent away."""
        self._per_s, self._burst = per_s, burst
        self._left: dict[str, tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self._left)

    def admit(self, place: str, now: float, cost: int = 1) -> bool:
        """Count a connection from a place, as so many; whether it may come in."""
        if not place:
            return True
        left, at = self._left.pop(place, (self._burst, now))
        left = min(self._burst, left + (now - at) * self._per_s)
        admitted = left >= 1.0  # the rest is owed, so that a small burst is not none
        if len(self._left) >= KNOWN:
            # Popped and put back with each arrival, so the first is the address that came least lately.
            del self._left[next(iter(self._left))]
        self._left[place] = (left - cost if admitted else left), now
        self.refused += not admitted
        return admitted


class _Handshake:
    """A connection whose TLS handshake is not done (`connection_limits.Holder`): it is closed for a newcomer like one that
    never asked anything. `since` is infinite while it waits for us to begin, so that its time does not run."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task
        self.since = math.inf

    def idle_since(self) -> tuple[Waits, float] | None:
        """From its beginning."""
        return Waits.FIRST, self.since

    def give_up(self) -> None:
        """End it."""
        self._task.cancel()


class Listener:
    """One listening socket, whose connections it makes. Belongs to the running loop."""

    def __init__(
        self,
        listening: socket.socket,
        make: Callable[[Seat], asyncio.BaseProtocol],
        arrivals: ArrivalRates,
        *,
        tls: ssl.SSLContext | None = None,
        handshake_s: float = 10.0,
        farewell: Callable[[str], bytes] | None = None,
    ) -> None:
        """`make` is given the seat of the new connection, which leaves it when it is lost. `farewell` makes what is said to who is sent
        away, where there is no TLS: of why there is no room, or of nothing for who came too often."""
        self._loop = asyncio.get_running_loop()
        self._listening = listening
        self._make = make
        self._arrivals = arrivals
        self._tls = tls
        self._handshake_s = handshake_s
        self._pace = Pace(self._loop)
        self._farewell = None if tls else farewell  # before a handshake no plain text can be sent
        self._cost = A_HANDSHAKE if tls else 1
        self._handshakes = asyncio.Semaphore(_HANDSHAKES)
        self._coming: set[asyncio.Task[None]] = set()
        self._leaving: set[socket.socket] = set()
        self._later: asyncio.TimerHandle | None = None
        self._listening.setblocking(False)
        self._loop.add_reader(self._listening, self._ready)

    def close(self) -> None:
        """Accept no more; who is in a handshake is left."""
        for task in self._coming:
            task.cancel()
        for accepted in self._leaving:
            accepted.close()
        if self._later is not None:
            self._later.cancel()
        if self._listening.fileno() >= 0:
            self._loop.remove_reader(self._listening)
            self._listening.close()

    def _ready(self) -> None:
        for _ in range(A_TURN):
            try:
                accepted, address = self._listening.accept()
            except OSError as problem:
                if problem.errno in _EXHAUSTED:
                    self._rest(problem)
                return  # nobody waits any more, or who did has gone
            self._came(accepted, place_of(address))

    def _came(self, accepted: socket.socket, place: str) -> None:
        # The rate first: `take` may close an idle connection, which one that comes too often must not bring about.
        now, seats = self._loop.time(), self._arrivals.seats
        if not self._arrivals.admit(place, now, self._cost):
            self._send_away(accepted, "")
            return
        seat = seats.take(place)
        if seat is None:
            self._arrivals.refused += 1
            self._send_away(accepted, seats.why(place))
            return
        task = self._loop.create_task(self._connected(accepted, seat))
        seat.holder = _Handshake(task) if self._tls else None
        self._coming.add(task)
        task.add_done_callback(partial(self._over, accepted, seat))

    def _rest(self, problem: OSError) -> None:
        """This process can open nothing more for now, whoever has it all: idle connections make room."""
        freed = sum(self._arrivals.seats.free() for _ in range(_FREED))
        log.error(
            "no connection can be accepted for %g s: %s; %d idle ones were closed",
            _RETRY_S,
            problem.strerror,
            freed,
        )
        # What waits to be accepted stays readable: without a rest the loop would turn on it without end.
        self._loop.remove_reader(self._listening)
        self._later = self._loop.call_later(
            _RETRY_S, self._loop.add_reader, self._listening, self._ready
        )

    def _send_away(self, accepted: socket.socket, why: str) -> None:
        accepted.setblocking(False)
        if self._farewell is None or len(self._leaving) >= _LEAVING:
            accepted.close()
            return
        with contextlib.suppress(OSError):
            accepted.send(self._farewell(why))
            accepted.shutdown(socket.SHUT_WR)
        self._leaving.add(accepted)
        self._loop.call_later(_LINGER_S, self._left, accepted)

    def _left(self, accepted: socket.socket) -> None:
        self._leaving.discard(accepted)
        with accepted, contextlib.suppress(OSError):
            accepted.recv(_REQUEST_BYTES)

    def _over(self, accepted: socket.socket, seat: Seat, task: asyncio.Task[None]) -> None:
        self._coming.discard(task)
        if task.cancelled():  # perhaps before it began
            accepted.close()
            seat.leave()
        elif (problem := task.exception()) is not None:
            accepted.close()
            seat.leave()
            if isinstance(
                problem, OSError | EOFError
            ):  # whoever came is gone, or speaks no TLS of ours
                log.debug("a connection was not made: %s", problem)
            else:
                log.error("a connection was not made: %s: %s", type(problem).__name__, problem)

    async def _connected(self, accepted: socket.socket, seat: Seat) -> None:
        accepted.setblocking(False)
        if self._tls is None:
            await self._loop.connect_accepted_socket(partial(self._make, seat), accepted)
            return
        async with self._handshakes:
            making = self._loop.create_task(self._greeted(accepted, seat, self._tls))
            try:
                await asyncio.wait((making,), timeout=_HELD_S)
            except asyncio.CancelledError:
                making.cancel()
                raise
        try:
            await making
        except asyncio.CancelledError:
            making.cancel()
            raise

    async def _greeted(self, accepted: socket.socket, seat: Seat, tls: ssl.SSLContext) -> None:
        if isinstance(seat.holder, _Handshake):
            seat.holder.since = self._loop.time()
        await secured(accepted, self._make(seat), tls, self._pace, handshake_s=self._handshake_s)

"""`SessionLiveness`: decides from statuses and failed dials of POSTs whether an HTTP+SSE session still takes messages.

An open stream says nothing of that. What says it of one message alone, and what of all:

    what became of a POST                            the session is over
    ------------------------------------------------------------------------------------------------------------------
    any refusal of `initialized`                     at once
    401, 404, 410                                    unless a probe says otherwise
    413, 431 and others that are of one message      never
    502, 503                                         after `UNAVAILABLE_S` in which no POST was accepted, and a probe was not
    a status that may mean either, 403 say           when a probe is answered with it as well
    a refused connection                             after `UNREACHED_S` in which nothing got through, and a probe did not
    no connection for want of something here         never

A message on the stream that is no ping got through. So did a POST that has its status, where connections are refused.
Connections and messages are refused also by a server that has as many as it takes: while it works on some of them it is not one that takes
nothing. It may be one that shuts down all the same, and one caller's call may never end: `ONE_TROUBLE_S` later a probe decides.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from gatewright.transport.http_client import (
    CannotDial,
    CannotReach,
    Posted,
    TimedOut,
    UpstreamError,
)
from gatewright.transport.http_dial import CONNECT_S
from gatewright.transport.posted_messages import (
    INITIALIZED,
    NOTIFICATION,
    OF_ALL,
    OF_ONE_MESSAGE,
    UNAVAILABLE,
)
from gatewright.transport.refusals import ONE_TROUBLE_S, UNAVAILABLE_S, Refusals

__all__ = ["UNREACHED_S", "WORKS_S", "Asked", "SessionLiveness"]

UNREACHED_S = 12.0
"""After so long without anything that got through, refused connections are no trouble of a moment. More than `WORKS_S`."""
WORKS_S = CONNECT_S + 1.0
"""A POST that is open for longer has a connection, or stands in line for one here: opening one takes less, or fails."""
_PROBES = 2
"""So many are made at a time, of those that ask what a status means."""


class Asked(msgspec.Struct, frozen=True):
    """What is asked about a session."""

    probe: Callable[[], Awaitable[Posted]]
    """Posts a message that means nothing. Raises `UpstreamError`."""
    connects: Callable[[], bool]
    """Whether connections are opened, or given back by messages that were answered."""
    works: Callable[[float], bool]
    """Whether a request that somebody waits for is being posted, or with the server, for so many seconds."""


class SessionLiveness:
    """Of one session, and one event loop."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._probes = 0
        self._probing = False
        self._unreached, self._unavailable = Refusals(), Refusals()

    def got_through(self) -> None:
        """A message came on the stream."""
        self._unreached.over()
        self._unavailable.over()

    def answered(self, status: int) -> None:
        """A POST has its status. Who stands before the server may refuse it for what it is, though the server is away."""
        self._unreached.over()
        if 200 <= status < 300:
            self._unavailable.over()

    async def refuses_all(self, message: bytes, status: int) -> bool:
        """Whether others will be refused as this message was. Of a notification that is not probed: nobody waits for it, and who takes no
        cancellation would refuse the probe as well."""
        if message.startswith(INITIALIZED):
            return True
        of_all = status in OF_ALL
        if not of_all and (status in OF_ONE_MESSAGE or message.startswith(NOTIFICATION)):
            return False
        if self._probes >= _PROBES:  # one of those that are made says it
            return False
        self._probes += 1
        try:
            found = await self._probed()
        finally:
            self._probes -= 1
        if isinstance(found, UpstreamError):  # that says nothing of the session
            return of_all
        return found.status in OF_ALL or (found.status == status and not of_all)

    async def unavailable(self) -> bool:
        """A POST was answered with 502 or 503: whether the session is over."""
        self._unavailable.again()
        return await self._takes_nothing(self._unavailable, self._is_unavailable)

    async def unreached(self, problem: UpstreamError) -> bool:
        """A request was not posted: whether the session is over."""
        if not isinstance(problem, CannotReach) or isinstance(problem, CannotDial):
            return False
        self._unreached.again()
        return await self._takes_nothing(self._unreached, self._is_unreached)

    def _is_unavailable(self) -> bool:
        # What was there before the first refusal is work; a proxy may take seconds for each refusal.
        trouble = self._unavailable
        return trouble.last(UNAVAILABLE_S) and (
            trouble.last(ONE_TROUBLE_S) or not self._asked.works(trouble.for_s)
        )

    def _is_unreached(self) -> bool:
        trouble = self._unreached
        return trouble.last(UNREACHED_S) and (
            trouble.last(ONE_TROUBLE_S)
            or not (self._asked.connects() or self._asked.works(WORKS_S))
        )

    async def _takes_nothing(self, trouble: Refusals, lasts: Callable[[], bool]) -> bool:
        """Whether it lasts, and a probe is refused as well: one caller's messages may be such as nobody takes. One at a time."""
        if self._probing or not lasts():
            return False
        self._probing = True
        try:
            found = await self._probed()
        finally:
            self._probing = False
        if isinstance(found, CannotDial):  # that says nothing of the server
            return False
        if isinstance(
            found, TimedOut
        ):  # it refuses others, and may be slow: for so long, and no longer
            return trouble.last(ONE_TROUBLE_S)
        if isinstance(found, Posted):
            takes = found.status not in UNAVAILABLE
        else:
            takes = not isinstance(found, CannotReach)
        if takes:
            self.got_through()
        return not takes and lasts()

    async def _probed(self) -> Posted | UpstreamError:
        try:
            return await self._asked.probe()
        except UpstreamError as problem:
            return problem

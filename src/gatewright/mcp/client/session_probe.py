"""Probes with `ping` whether an HTTP server still knows a session; `LostSessions` ends renewal where sessions are lost before any answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from gatewright.mcp.client.http_endpoint import HttpEndpoint
from gatewright.mcp.client.http_rules import (
    SESSION,
    answer_in,
    is_no_method,
    session_is_lost,
    speaks_of_session,
)
from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.client.outgoing import question
from gatewright.transport.http_client import Posted, UpstreamError

__all__ = ["FRUITLESS", "PING_S", "LostSessions", "is_gone", "is_lost", "refuses_alike"]

PING_S = 5.0
"""How long a ping is waited for: somebody waits for the answer to the call that it is asked for."""

FRUITLESS = 1
"""So many sessions in a row may be lost before anything was answered in them."""


class LostSessions:
    """The sessions of one connection that the server gave and then did not know, a pool without affinity for one. Whoever keeps
    the connection pauses between attempts; a session that is made again at once, for each request, would have no end."""

    def __init__(self) -> None:
        self._served: str | None = None
        self._fruitless = 0

    def took(self, posted: Posted, session: str | None) -> None:
        """A request got this answer in a session."""
        if posted.body is None or 200 <= posted.status < 300:
            self._served = session

    def again(self, lost: str | None) -> bool:
        """A session is to be made again; whether there were too many, so that it must not."""
        self._fruitless = 0 if self._served == lost else self._fruitless + 1
        self._served = None
        return self._fruitless > FRUITLESS


async def is_lost(
    wire: HttpEndpoint, posted: Posted, session: str | None, ident: int, number: Callable[[], int]
) -> bool:
    """Whether the request `ident` was refused because the server forgot our session, and so not executed. `number` gives one for a ping."""
    if posted.status not in (400, 404) or posted.body is None or session is None:
        return False
    said = answer_in(posted.body, ident)
    if session_is_lost(posted.status, said, True, ident):
        return True
    if not speaks_of_session(posted.status, said, ident):
        return False
    return await refuses_alike(wire, session, number())


async def refuses_alike(wire: HttpEndpoint, session: str, ident: int) -> bool:
    """Whether a ping is refused for its session as well. Where nobody can say, it is not."""
    posted = await _ping(wire, session, ident)
    if posted is None or posted.body is None:
        return False
    said = answer_in(posted.body, ident)
    lost = session_is_lost(posted.status, said, True, ident)
    return lost or speaks_of_session(posted.status, said, ident)


async def is_gone(wire: HttpEndpoint, session: str, ident: int) -> bool:
    """Whether a server that has answered a call with HTTP 404 means its session: a ping is not found either. A server may lack
    `ping`, and make a 404 of saying so."""
    posted = await _ping(wire, session, ident)
    if posted is None or posted.body is None or posted.status not in (400, 404):
        return False
    said = answer_in(posted.body, ident)
    return said is None or not (said.result or is_no_method(said))


async def _ping(wire: HttpEndpoint, session: str, ident: int) -> Posted | None:
    try:
        async with asyncio.timeout(PING_S):
            # In the session of the call: later ones may have a new one already.
            return await wire.post(question(ident, "ping", {}), {SESSION: session}, _nothing)
    except (TimeoutError, UpstreamError, ServerFailed):
        return None


def _nothing(data: bytes) -> None:
    """What comes in answer to a ping, whose status says enough."""

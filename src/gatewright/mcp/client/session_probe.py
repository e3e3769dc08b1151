"""Probes with `ping` whether an HTTP server still knows a session, before it is given up (decision 0059)."""

from __future__ import annotations

import asyncio

from gatewright.mcp.client.http_endpoint import HttpWire
from gatewright.mcp.client.http_rules import (
    SESSION,
    answer_in,
    is_no_method,
    session_is_lost,
    speaks_of_session,
)
from gatewright.mcp.client.link import UpstreamFailed
from gatewright.mcp.client.outgoing import question
from gatewright.transport.http_client import Posted, UpstreamError

__all__ = ["PING_S", "is_gone", "refuses_alike"]

PING_S = 5.0
"""How long a ping is waited for: somebody waits for the answer to the call that it is asked for."""


async def refuses_alike(wire: HttpWire, session: str, ident: int) -> bool:
    """Whether a ping is refused for its session as well. Where nobody can say, it is not."""
    posted = await _ping(wire, session, ident)
    if posted is None or posted.body is None:
        return False
    said = answer_in(posted.body, ident)
    lost = session_is_lost(posted.status, said, True, ident)
    return lost or speaks_of_session(posted.status, said, ident)


async def is_gone(wire: HttpWire, session: str, ident: int) -> bool:
    """Whether a server that has answered a call with HTTP 404 means its session: a ping is not found either. A server may lack
    `ping`, and make a 404 of saying so."""
    posted = await _ping(wire, session, ident)
    if posted is None or posted.body is None or posted.status not in (400, 404):
        return False
    said = answer_in(posted.body, ident)
    return said is None or not (said.result or is_no_method(said))


async def _ping(wire: HttpWire, session: str, ident: int) -> Posted | None:
    try:
        async with asyncio.timeout(PING_S):
            # In the session of the call: later ones may have a new one already.
            return await wire.post(question(ident, "ping", {}), {SESSION: session}, _nothing)
    except (TimeoutError, UpstreamError, UpstreamFailed):
        return None


def _nothing(data: bytes) -> None:
    """What comes in answer to a ping, whose status says enough."""

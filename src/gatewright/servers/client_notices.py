"""Forwards a client's notifications and `roots/list_changed` on its session's server connection; `connection_of` names that connection."""

from __future__ import annotations

from typing import Any

from gatewright.call import Call, Failure, Refusal
from gatewright.mcp.client.related_tasks import without
from gatewright.servers.draining import leaving
from gatewright.servers.server import Server
from gatewright.servers.task_names import connection_name

__all__ = ["connection_of", "roots_changed", "tell"]


def connection_of(server: Server, session: str | None, process: str) -> str:
    """What tells the connection that serves a session from all others of its server: the session, where it has one of its own,
    and, where what a server remembers ends with the connection, which one it is in this `process` of ours. One that drains is still there: its tasks go on."""
    keeper = server.reconnector_of(session)
    link = keeper.link or leaving(keeper.drain)
    own = session if link is not None and keeper is not server.reconnector_of(None) else None
    return connection_name(server.spec, own, link, process)


async def tell(server: Server, call: Call, params: dict[str, Any]) -> Failure | Refusal | None:
    """Tell a server what a caller says; why not, where there is no connection to tell it on. On one that others share, whoever
    tells something may be the one that is asked from then on."""
    link = await server.reached(call)
    if isinstance(link, Failure | Refusal):
        return link
    return link.tell(call.method, params, call)


def roots_changed(server: Server, session: str | None, params: dict[str, Any]) -> None:
    """The roots of a session are others: nothing to a modern server, which asks within calls, nor where each session has a
    connection of its own and this one has none yet."""
    # With `share = "session"` nobody's roots are told on the main connection, which no session uses.
    link = server.reconnector_of(session).link
    serves = server.spec.share != "session" or link is not server.link
    late = not serves or server.hello.modern or server.roots_late(session)
    if (
        not late and link is not None and link.open
    ):  # what it asks then are roots, and nobody's business with it
        link.notify("notifications/roots/list_changed", without(params))

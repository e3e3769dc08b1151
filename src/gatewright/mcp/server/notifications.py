"""Runs each notification of a client as a call without an answer, in a background task, so that gates judge, count and record it.

Those about the connection itself (`initialized`, `cancelled`) never come here. Progress of a question goes to whoever asked it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Protocol

from gatewright.call import Call, CannotAsk, Event, Question
from gatewright.mcp.protocol.client_params import Notice
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.server_context import Presented, ServerContext
from gatewright.mcp.wire.codes import reason_of
from gatewright.mcp.wire.versions import Method

__all__ = ["MOST", "PROGRESS", "Teller", "take"]

log = logging.getLogger("gatewright.mcp.server")

PROGRESS = "notifications/progress"

MOST = 1024
"""So many notifications of one host are on their way at once."""

_NOTICE = Method("method")
_BUSY = reason_of("resource_exhausted")
_FULL = f"more than {MOST} notifications of one connection at once: others are left out"
_kept: set[asyncio.Task[Any]] = set()  # the loop itself holds tasks weakly


class Teller(Protocol):
    """The host that says something."""

    front: ServerContext
    telling: int
    """How many of its notifications are on their way through the kernel."""
    deafened: bool
    """Whether some were left out, since they were so many, and that is recorded."""

    @property
    def presented(self) -> Presented:
        """Who it is, and where."""

    def call(self, inbound: Inbound) -> Call:
        """The call that something of this host asks for."""


class _Unheard:
    """The way back to somebody who does not wait."""

    def emit(self, event: Event) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody waits for what a notification leads to")


def take(host: Teller, notice: Notice) -> None:
    """Lead a notification through the kernel, beside everything else. Where `MOST` of a host's are on their way already it is left
    out, as nobody waits for an answer; that is recorded once, until there is room again."""
    if host.telling >= MOST:
        if not host.deafened:
            host.deafened = True
            host.front.refused(host.presented.caller, host.presented.door, _BUSY.mcp_code, _FULL)
        return
    call = host.call(Inbound(b"null", notice.method, notice.params, notice.client, _NOTICE))
    host.telling += 1
    _keep(asyncio.get_running_loop().create_task(_told(host, call)))


async def _told(host: Teller, call: Call) -> None:
    try:
        await host.front.kernel.handle(call, _Unheard())
    finally:
        host.telling -= 1
        if host.telling < MOST // 2:
            host.deafened = False


def _keep(task: asyncio.Task[Any]) -> None:
    """Hold a task that nobody awaits, and log how it failed."""
    _kept.add(task)
    task.add_done_callback(_done)


def _done(task: asyncio.Task[Any]) -> None:
    _kept.discard(task)
    if not task.cancelled() and task.exception() is not None:
        log.error("a notification was lost", exc_info=task.exception())

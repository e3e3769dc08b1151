"""Runs each notification of a client as a call without an answer, in a background task, so that gates judge, count and record it.

Those about the connection itself (`initialized`, `cancelled`) never come here. Progress of a question goes to whoever asked it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.call import Call, CannotAsk, Event, Question
from gatewright.mcp.protocol.client_params import Notice
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire.versions import Method

__all__ = ["PROGRESS", "Teller", "take"]

log = logging.getLogger("gatewright.mcp.server")

PROGRESS = "notifications/progress"

_NOTICE = Method("method")
_kept: set[asyncio.Task[Any]] = set()  # the loop itself holds tasks weakly


class Teller(Protocol):
    """The host that says something."""

    front: ServerContext

    def call(self, inbound: Inbound) -> Call:
        """The call that something of this host asks for."""


class _Unheard:
    """The way back to somebody who does not wait."""

    def emit(self, event: Event) -> None:
        """Nobody listens."""

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("nobody waits for what a notification leads to")


def take(host: Teller, notice: Notice) -> None:
    """Lead a notification through the kernel, beside everything else."""
    call = host.call(Inbound(b"null", notice.method, notice.params, notice.client, _NOTICE))
    _keep(asyncio.get_running_loop().create_task(_told(host.front, call)))


def _told(front: ServerContext, call: Call) -> Coroutine[Any, Any, Any]:
    return front.kernel.handle(call, _Unheard())


def _keep(task: asyncio.Task[Any]) -> None:
    """Hold a task that nobody awaits, and log how it failed."""
    _kept.add(task)
    task.add_done_callback(_done)


def _done(task: asyncio.Task[Any]) -> None:
    _kept.discard(task)
    if not task.cancelled() and task.exception() is not None:
        log.error("a notification was lost", exc_info=task.exception())

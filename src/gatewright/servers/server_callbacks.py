"""`Told`: the callbacks of a tool server: its lists, notifications, audit events, permissions, tasks, state changes; hooks that do nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from gatewright.call import Tool
from gatewright.servers.permission_admission import Permits
from gatewright.servers.server_catalogue import Built
from gatewright.servers.states import Change
from gatewright.servers.task_owners import MadeTasks

__all__ = ["Told", "no_look", "nothing_ahead"]


async def no_look(_: str, __: Sequence[Tool]) -> None:
    """Look at nothing."""


async def nothing_ahead(_: str, __: Built) -> None:
    """Make nothing."""


class Told(msgspec.Struct, frozen=True):
    """Whom a server tells what: all of it is called on the event loop and must not block."""

    listed: Callable[[str, Built, frozenset[str]], None]
    """Server id, what it offers now, and of which kinds the server itself said that they changed."""
    said: Callable[[str, str, dict[str, Any], str | None], None]
    """Server id, method, params, and the session whose own connection said it."""
    event: Callable[[str, str, dict[str, Any]], None]
    """`SERVER_CONNECTED` or `SERVER_DISCONNECTED` (MGP §6.4), server id, details."""
    permits: Permits | None = None
    """Who decides what the server may have; nobody: it may have everything."""
    looks: Callable[[str, Sequence[Tool]], Awaitable[None]] = no_look
    """Looks at the tools of a server, by its id, before `listed` shows them to anybody. May take its time."""
    ahead: Callable[[str, Built], Awaitable[None]] = nothing_ahead
    """Makes what follows from an offer, in slices, right before `listed` shows it."""
    ours: Callable[[str], bool] = lambda _: False
    """Whether a URL leads to the gateway itself: no server may send a person there."""
    tasks: MadeTasks | None = None
    """Who knows whose the tasks are that servers made."""
    opened: Callable[[str], bool] = lambda _: True
    """Whether a session has not ended."""
    changed: Callable[[Change], None] = lambda _: None
    """Hears of each transition between states."""

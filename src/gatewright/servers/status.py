"""`Status`: a server's state for operators; `Told`: callbacks of one server (lists, notifications, audit, permissions, tasks, sessions)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Tool
from gatewright.servers.listing import Listing
from gatewright.servers.permission_admission import Permits
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.server_catalogue import Built
from gatewright.servers.spec import ServerSpec
from gatewright.servers.standard_error import StandardError
from gatewright.servers.states import Change, State
from gatewright.servers.task_owners import MadeTasks

__all__ = ["Status", "Told", "no_look", "nothing_ahead", "stands"]


class Status(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an operator sees of a server."""

    id: str
    state: State
    transport: str
    reason: str = ""
    revision: str = ""
    info: Mapping[str, Any] = {}
    mgp_version: str | None = None
    mgp_extensions: tuple[str, ...] = ()
    trust_level: str | None = None
    tools: int = 0
    sessions: int = 0
    restarts: int = 0
    dropped: int = 0
    warnings: tuple[str, ...] = ()
    stderr: tuple[str, ...] = ()
    """The last lines of all its processes."""
    last_words: tuple[str, ...] = ()
    """Those of the very process that failed last, up to that; of the present one where it is connected."""


def stands(
    spec: ServerSpec, main: Reconnector, listing: Listing, stderr: StandardError, sessions: int
) -> Status:
    """How one is that is reached over a connection."""
    link, hello = main.link, listing.hello
    return Status(
        id=spec.id,
        state=main.state,
        transport=spec.transport,
        reason=main.reason,
        revision=hello.revision,
        info=hello.info,
        mgp_version=hello.mgp.version if hello.mgp else None,
        mgp_extensions=hello.mgp.extensions if hello.mgp else (),
        trust_level=spec.trust_level,
        tools=len(listing.of("tools")),
        sessions=sessions,
        restarts=main.restarts,
        dropped=link.dropped if link is not None else 0,
        warnings=tuple(listing.failures.values()),
        stderr=tuple(stderr.lines),
        last_words=stderr.last_words if link is None else stderr.present,
    )


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

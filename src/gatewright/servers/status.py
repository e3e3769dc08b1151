"""`Status`: what operators see of a tool server (state, revision, tools, sessions, restarts, warnings, stderr); `stands` makes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.servers.listing import Listing
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.spec import ServerSpec
from gatewright.servers.standard_error import StandardError
from gatewright.servers.states import State

__all__ = ["Status", "stands"]


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

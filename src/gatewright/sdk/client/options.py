"""`Options` of a client: name, headers, authorization, timeouts, retries, and handlers of sampling, elicitation and events."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gatewright.mcp.protocol.negotiate import EXTENSIONS, Face
from gatewright.mcp.protocol.recovery import Policy

if TYPE_CHECKING:
    from gatewright.mcp.client.authorization import Authorizer

__all__ = ["Answer", "Heard", "Options"]

Answer = Callable[[dict[str, Any]], "dict[str, Any] | Awaitable[dict[str, Any]]"]
"""Answers a question of a server: takes its `params`, returns the result object. A plain function runs in a thread.
Raising refuses: the server is told the message of the exception."""

Heard = Callable[[str, dict[str, Any]], None]
"""Takes a notification: method and params. Runs on the client's event loop and must not block."""


def _nobody(method: str, params: dict[str, Any]) -> None:
    """Where nobody listens."""


def _silent(line: str) -> None:
    """Where nobody reads a child's log."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """All settings of a client; every one has a default. Times are seconds."""

    name: str = "gatewright-client"
    """What the client calls itself (`clientInfo`)."""
    version: str = "0"
    headers: Mapping[str, str] = {}
    """Sent with each HTTP request and with the upgrade to WebSocket. Never logged."""
    bearer: str | None = None
    """A token for `Authorization`."""
    authorizer: Authorizer | None = None
    """Who gets into a protected HTTP server (`mcp.client.authorization`), where a fixed token is not enough."""
    env: Mapping[str, str] = {}
    """What a stdio server's process gets besides the little that every program needs."""
    cwd: str | None = None
    """Where a stdio server's process runs."""
    era: Literal["auto", "legacy", "modern"] = "auto"
    """Which MCP revisions are tried: all five, those with a handshake, or 2026-07-28 only."""
    mgp: Sequence[str] | None = EXTENSIONS
    """The MGP extensions that are offered (§2.2); None: the server never hears of MGP. Unless it is named here, `bidirectional` is
    offered with `elicit` alone, which then answers callbacks, too."""
    timeout_s: float = 30.0
    """The time limit of one call, repetitions included; the time that a person takes to answer does not count."""
    connect_s: float = 20.0
    """From start to hello."""
    retry: Policy | None = Policy()
    """When and how often a failed call is repeated (MGP §14.6); None: never."""
    elicit: Answer | None = None
    """Answers `elicitation/create`: the server asks the user."""
    sample: Answer | None = None
    """Answers `sampling/createMessage`: the server asks the model."""
    roots: Sequence[str] | None = None
    """The folders (`file:` URIs) that a server may know of."""
    on_event: Heard = _nobody
    """Told of log lines, changes of lists, and whatever else a server says on its own account."""
    on_stderr: Callable[[str], None] = _silent
    """Takes the log lines of a stdio server, one by one."""
    actor: str = "gatewright-client"
    """Who the audit events of repetitions say it was."""
    clock: Callable[[], float] = time.time
    """Seconds since 1970, for audit events."""
    random: Callable[[], float] = random.random
    """Numbers in [0, 1), which spread waits."""
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
    """How waits are waited."""

    @property
    def face(self) -> Face | None:
        """What is offered of MGP."""
        if self.mgp is None:
            return None
        if self.mgp is EXTENSIONS and self.elicit is None:  # it could be asked, and not answer
            return Face(tuple(one for one in EXTENSIONS if one != "bidirectional"))
        return Face(tuple(self.mgp))

    @property
    def info(self) -> dict[str, Any]:
        """`clientInfo`."""
        return {"name": self.name, "version": self.version}

    @property
    def capabilities(self) -> dict[str, Any]:
        """What a server may ask: exactly what there is an answer for."""
        found: dict[str, Any] = {}
        if self.elicit is not None:
            # One handler takes both modes (MCP 2025-11-25); `mode` in its params says which.
            found["elicitation"] = {"form": {}, "url": {}}
        if self.sample is not None:
            found["sampling"] = {"tools": {}}
        if self.roots is not None:
            found["roots"] = {"listChanged": False}
        return found

    @property
    def all_headers(self) -> dict[str, str]:
        """`headers`, with the bearer token."""
        found = dict(self.headers)
        if self.bearer is not None:
            found["Authorization"] = f"Bearer {self.bearer}"
        return found

    def __repr__(self) -> str:
        """Without headers, token and environment: a repr ends in logs."""
        return f"Options(name={self.name!r}, era={self.era!r})"

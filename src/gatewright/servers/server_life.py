"""`ServerLife`: one server's state changes: audits, announces them; drains it on request, idleness or its own notice; refuses calls then."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from gatewright.call import Failure
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.client.short_answers import fetch_short
from gatewright.servers.call_sender import Route
from gatewright.servers.connection_wait import explained
from gatewright.servers.draining import GONE_S, leaving, tasks_on
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relisting import Relisting
from gatewright.servers.server_callbacks import Told
from gatewright.servers.spec import ServerSpec
from gatewright.servers.standard_error import StandardError
from gatewright.servers.states import (
    AFTER,
    NO_MORE_RESTARTS,
    REASONS,
    After,
    Change,
    ShutdownReason,
    State,
)

__all__ = ["LIFECYCLE", "Begun", "ServerLife", "speaks"]

LIFECYCLE = "notifications/mgp.lifecycle"
"""How transitions are told, to clients and by servers (MGP §11.4)."""

SHUTDOWN = "mgp/lifecycle/shutdown"
_ANSWER_S = 1.0
"""How long a server has to say how long its own drain takes; it drains either way."""
_OWN_DRAIN_S = 30.0
"""How long a server may drain that began by itself."""
_MOST_MS = 86_400_000


class Begun(msgspec.Struct, frozen=True):
    """A shutdown that was begun: the calls in flight, and in how many milliseconds they should have ended."""

    pending: int
    drain_ms: int
    note: str = ""
    """What whoever asked for it has to know besides."""


def speaks(link: Link | None) -> bool:
    """Whether the server at the other end negotiated MGP's `lifecycle`."""
    hello = None if link is None else link.hello
    return hello is not None and hello.mgp is not None and "lifecycle" in hello.mgp.extensions


class ServerLife:
    """Of one server. `keepers` are its connections now, the common one first; `spawn` does what nobody waits for."""

    def __init__(
        self,
        spec: ServerSpec,
        told: Told,
        stderr: StandardError,
        relisting: Relisting,
        keepers: Callable[[], Sequence[Reconnector]],
        spawn: Callable[[Any], None],
    ) -> None:
        self.spec = spec
        self._told = told
        self._stderr = stderr
        self._relisting = relisting
        self._keepers = keepers
        self._spawn = spawn
        self._log = logging.getLogger(f"gatewright.server.{spec.id}")
        self._loop = asyncio.get_running_loop()
        self._state: State = "registered"
        self.since = self._loop.time()
        """When it came into its state, in the loop's seconds."""
        self.quiet = False
        """Whether it takes no calls as it stands, or was shut down until the next one."""
        self._why = ""

    # -- what happens ------------------------------------------------------------------------------

    def changed(self, state: State, reason: str) -> None:
        """The common connection is in another state, or in the same for another reason."""
        main = self._keepers()[0]
        before, self._state = self._state, state
        if before == state:
            return
        self.since = self._loop.time()
        if state == "connected":
            self._connected(main.link)
        elif state == "disconnected":
            self._stderr.failed()
            self._told.event("SERVER_DISCONNECTED", self.spec.id, {"reason": reason})
        elif state == "error":
            self._failed(before, main.cause, reason)
        if state == "connected":
            self.quiet = False
        self._told.changed(Change(self.spec.id, before, state, main.cause))

    def _connected(self, link: Link | None) -> None:
        self._relisting.begins()
        # `begins` above is ended by `Server._connected`, which the reconnector awaits next.
        hello = None if link is None else link.hello
        self._log.info("connected, MCP %s", hello.revision if hello else "?")
        if hello is not None and hello.mgp_problem:
            self._log.warning("its MGP does not count: %s; it is plain MCP", hello.mgp_problem)
        self._told.event("SERVER_CONNECTED", self.spec.id, {})

    def _failed(self, before: State, cause: str, reason: str) -> None:
        if before != "disconnected":
            self._stderr.failed()
        if cause == NO_MORE_RESTARTS:
            details = {"reason": reason, "detail": NO_MORE_RESTARTS}
            self._told.event("SERVER_DISCONNECTED", self.spec.id, details)

    # -- shutting down -----------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        """How many calls are in flight, on all its connections."""
        return sum(one.calls.count for one in self._keepers())

    @property
    def tasks(self) -> int:
        """How many tasks run that would end with its connections."""
        return sum(tasks_on(one.link or leaving(one.drain)) for one in self._keepers())

    def refused(self, route: Route | None = None) -> Failure | None:
        """Why a call cannot be taken as the server was shut down; None where it can, or the call brings the server back. What is
        asked about a task of a connection that drains is taken until its end."""
        if route is not None and route.leaving:
            return None
        main = self._keepers()[0]
        main.wanted()
        found = main.refused()
        return None if found is None else explained(self.spec, found)

    def missed(self) -> None:
        """Somebody calls what it has never listed: it is started again where that is due, as by any other call."""
        self._keepers()[0].hurry()

    async def admits(self) -> None:
        """Whether a session may get a connection of its own now: none starts a program that is not started again, and each would
        start it as often as the rule lets it. Raises `ServerFailed`."""
        main = self._keepers()[0]
        if self.quiet and main.refused() is not None:
            raise ServerFailed(self._why or "it is shutting down")
        # Where an attempt is due by now, this is what wants it: calls of sessions do not reach the common connection.
        if main.state == "error" and isinstance(
            await main.ready(self.spec.restart_wait_s), Failure
        ):
            raise ServerFailed(main.reason)

    async def shut_down(
        self, reason: ShutdownReason, timeout_s: float, after: After | None = None
    ) -> Begun | None:
        """Begin a graceful shutdown, and return what is in flight; None where the server is not connected. Calls that do not end
        in time are answered with 3003, and the connection is closed."""
        keepers = self._keepers()
        then = AFTER[reason][self.spec.restart.policy] if after is None else after
        links = [one.link for one in keepers]  # which nobody sees any more from here on
        if not keepers[0].shut_down(reason, then, timeout_s):
            return None
        self.quiet = True
        self._why = f"it was told to shut down ({reason})"
        for one in keepers[1:]:
            if not one.shut_down(reason, then, timeout_s):
                one.cut(self._why)
        params = {"reason": reason, "timeout_ms": round(timeout_s * 1000)}
        for link in links[1:]:
            if link is not None and speaks(link):
                self._spawn(_passed_on(link, params))
        pending, main = self.pending, links[0]
        drain_ms = min(timeout_s, self.spec.call_s) * 1000 if pending else 0.0
        if self.tasks:
            drain_ms = timeout_s * 1000
        if main is not None and speaks(main):
            drain_ms = await _passed_on(main, params) or drain_ms
        return Begun(pending, round(min(drain_ms, timeout_s * 1000)))

    @property
    def uptime_s(self) -> float:
        """How long it has been connected; 0 where it is not."""
        now = self._loop.time() - self.since
        return now if self._state in ("connected", "draining") else 0.0

    @property
    def waits(self) -> bool:
        """Whether it was shut down and waits to be called."""
        return self._keepers()[0].idle

    async def shut(self) -> None:
        """Return once no shutdown is going on."""
        await self._keepers()[0].shut()

    def heard(self, link: Link, params: dict[str, Any], keeper: Reconnector) -> None:
        """The server says on a connection, which `keeper` has, that its own state is another. One that drains takes no more calls, so it
        gets none; of all else the gateway knows better, and of what comes after a shutdown that was begun here."""
        if params.get("new_state") != "draining" or link is not keeper.link:
            return
        said = params.get("reason")
        reason: ShutdownReason = next((one for one in REASONS if one == said), REASONS[1])
        then = AFTER["configuration_change"][self.spec.restart.policy]
        if keeper.shut_down(reason, then, _OWN_DRAIN_S) and keeper.drain is not None:
            keeper.drain.counts = True
            # The process of one session is not the server.
            self.quiet = self.quiet or keeper is self._keepers()[0]

    async def watch_idleness(self, idle_s: float, wanted: Callable[[], Sequence[str]]) -> None:
        """Shut the server down whenever no call was made of it for so long, nobody wants to hear of its resources, and nobody has
        a task there, which would end with it."""
        tasks = self._told.tasks
        while True:
            keepers = self._keepers()
            last = max(self.since, *(one.calls.last for one in keepers))
            now = self._loop.time()
            if (
                self.pending
                or wanted()
                or keepers[0].state != "connected"
                or any(one.state == "connecting" for one in keepers)
                or (now - last >= idle_s and tasks is not None and tasks.any_at(self.spec.id))
            ):
                last = now
            if now - last >= idle_s:
                await self.shut_down("idle_timeout", GONE_S)
                last = now
            await asyncio.sleep(last + idle_s - now)


async def _passed_on(link: Link, params: dict[str, Any]) -> float | None:
    """Tell a server that it is to shut down: in how many milliseconds it thinks that it has, where it says so."""
    try:
        found = await fetch_short(link, SHUTDOWN, params, _ANSWER_S)
    except (ServerFailed, ValueError):
        return None  # it does not know the method, or is gone already: its connection is closed all the same
    said = found.get("estimated_drain_ms")
    if isinstance(said, bool) or not isinstance(said, int | float):
        return None
    return float(said) if 0 <= said <= _MOST_MS else None

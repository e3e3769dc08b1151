"""All servers together: started at the same time, none waiting for another, stopped within a grace.

Also the face of this folder towards the doors: what they ask besides calls.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Caller, Target
from gatewright.protocol.mcp_client import Hello
from gatewright.upstream.authorize import Authorizer
from gatewright.upstream.builtin.discovery import Discovery
from gatewright.upstream.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.upstream.describe import describe
from gatewright.upstream.dispatch import Dispatch, Owner
from gatewright.upstream.hub import Hub, Take
from gatewright.upstream.keeper import State
from gatewright.upstream.listing import Listing
from gatewright.upstream.local import LocalServer
from gatewright.upstream.server import CHANGES, Server, Status, Told
from gatewright.upstream.spec import ServerSpec
from gatewright.upstream.view import Profile

__all__ = ["Supervisor"]

log = logging.getLogger("gatewright.upstream")

Audited = Callable[[str, str, dict[str, Any]], None]
"""Takes a lifecycle event: `SERVER_CONNECTED` or `SERVER_DISCONNECTED`, server id, details."""


class Supervisor:
    """Make it on the running loop, then `await start()`. `info` is what we call ourselves to servers;
    `sight` says who may see what; `event` takes lifecycle events for the record; `authorizers` are
    who gets us into protected servers, by server id."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        *,
        info: Mapping[str, Any],
        profiles: Mapping[str, Profile] | None = None,
        sight: Sight = EVERYTHING,
        event: Audited = lambda *_: None,
        local: Sequence[LocalServer] = (),
        authorizers: Mapping[str, Authorizer] | None = None,
        startup_wait_s: float = 10.0,
    ) -> None:
        enabled = [spec for spec in specs if spec.enabled]
        self.catalogue = Catalogue([*enabled, *(one.spec for one in local)], profiles, sight)
        self.hub = Hub(self._may_see, self._uri)
        told = Told(self._listed, self.hub.tell, event)
        tokens = authorizers or {}
        self._servers = {spec.id: Server(spec, info, told, tokens.get(spec.id)) for spec in specs}
        self._local = {one.id: one for one in local}
        self._owners: dict[str, Owner] = {**self._servers, **self._local}
        discovery = Discovery(self.catalogue, self._standing, self._reason)
        self.dispatch = Dispatch(self._owners, self.catalogue, {"mgp/discovery/list": discovery})
        self._startup_wait_s = startup_wait_s
        self._startup: asyncio.Task[None] | None = None

    # -- life ----------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start all servers, without waiting for any."""
        for one in self._local.values():
            self.catalogue.put(one.id, one.listing)
        for server in self._servers.values():
            server.start()
        self._startup = asyncio.get_running_loop().create_task(self._all_settled())

    async def _all_settled(self) -> None:
        await asyncio.gather(*(server.settled() for server in self._servers.values()))

    async def settled(self) -> bool:
        """Wait until every server is connected or has failed, but no longer than `startup_wait_s`
        after the first question. False where some are still starting."""
        startup = self._startup
        if startup is not None and not startup.done():
            await asyncio.wait([startup], timeout=self._startup_wait_s)
            if not startup.done():
                self._startup_wait_s = 0.0  # nobody else waits for them again
        return startup is not None and startup.done()

    async def close(self, grace_s: float = 5.0) -> None:
        """Stop everything that was started, giving each server `grace_s` at each step."""
        if self._startup is not None:
            self._startup.cancel()
        await asyncio.gather(*(server.close(grace_s) for server in self._servers.values()))

    # -- for operators -------------------------------------------------------------------------------

    @property
    def states(self) -> Mapping[str, State]:
        """Server id → state."""
        return {one.id: one.state for one in self._all}

    def status(self) -> list[Status]:
        """What an operator sees, in the order of the configuration."""
        return [self._offered(one.status()) for one in self._all]

    def _offered(self, status: Status) -> Status:
        shelf = self.catalogue.shelf(status.id)
        return msgspec.structs.replace(status, tools=len(shelf.tools), warnings=shelf.warnings)

    @property
    def _all(self) -> list[Server | LocalServer]:
        return [*self._servers.values(), *self._local.values()]

    def _standing(self, server: str) -> tuple[ServerSpec, State, Hello] | None:
        one = self._servers.get(server) or self._local.get(server)
        return None if one is None else (one.spec, one.state, one.hello)

    def _reason(self, server: str) -> str:
        one = self._servers.get(server)
        return "" if one is None else one.status().reason

    # -- for doors -----------------------------------------------------------------------------------

    async def describe(self, profile: str, caller: Caller) -> tuple[dict[str, Any], str]:
        """Capabilities and instructions of what is behind a profile for a caller, once the servers
        have started or had their time. Raises `KeyError` for an unknown profile."""
        await self.settled()
        view = self.catalogue.view(profile)
        visible = self.catalogue.servers(profile, caller)
        hellos = [(one, self.catalogue.listing(one).hello) for one in visible]
        known = [(name, hello) for name, hello in hellos if hello.revision]
        return describe(known, mirror=view.unprefixed)

    async def notify(
        self,
        caller: Caller,
        method: str,
        params: dict[str, Any],
        session: str | None = None,
    ) -> None:
        """Pass a client's notification on to the servers that exist for the caller; where the session
        has a connection of its own, on that one."""
        mgp = method.startswith("notifications/mgp.")
        for name in self.catalogue.servers("", caller):
            server = self._servers.get(name)
            link = server.link_of(session) if server is not None else None
            if link is None or link.hello is None or (mgp and link.hello.mgp is None):
                continue
            link.notify(method, params)

    def watch(
        self, caller: Caller, profile: str, take: Take, session: str | None = None
    ) -> Callable[[], None]:
        """Tell `take` of what servers say that the caller may see; the result ends that."""
        return self.hub.watch(caller, profile, take, session)

    def annotations(self, profile: str, name: str, caller: Caller) -> Mapping[tuple[str, ...], str]:
        """The `x-mcp-header` annotations of a tool by its exposed name; empty for unknown ones, and
        for those that the caller must not learn of."""
        tool = self.catalogue.tool(profile, name) if self.catalogue.knows(profile) else None
        if tool is None or not tool.headers or not self.catalogue.sight.tool(caller, tool):
            return {}
        return tool.headers

    def forget(self, session: str) -> None:
        """A session is over: give up what was kept for it."""
        for server in self._servers.values():
            server.forget(session)

    # -- what servers say ----------------------------------------------------------------------------

    def _listed(self, server: str, listing: Listing, announced: frozenset[str]) -> None:
        before = self.catalogue.listing(server)
        changed = self.catalogue.put(server, listing)
        for warning in self.catalogue.shelf(server).warnings if changed else ():
            log.warning("server %s: %s", server, warning)
        for method, name in CHANGES.items():
            same = all(before.of(one) == listing.of(one) for one in _sections(name))
            if not same or name in announced:
                self.hub.tell(server, method, {})

    def _uri(self, profile: str, server: str, uri: str) -> str:
        if not self.catalogue.knows(profile):
            return uri
        return self.catalogue.view(profile).uri(Target(server, uri))

    def _may_see(self, caller: Caller, profile: str, server: str) -> bool:
        return self.catalogue.knows(profile) and server in self.catalogue.servers(profile, caller)


def _sections(name: str) -> Sequence[Any]:
    return ("resources", "resourceTemplates") if name == "resources" else (name,)

"""What clients want to hear of one server: log levels and resources, joined into what the server is told.

Many sessions, one connection: the server hears the most verbose level that anybody wants, and of each
resource once. A wish is that of one session, or of one open `subscriptions/listen`, and ends with it: nobody ends another's,
and who has neither could not be told anything. All of it is told anew to each new connection. A modern server takes log levels with each
request and subscriptions in one `subscriptions/listen`, which replaces the one before.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.links.link import Link, UpstreamFailed
from gatewright.protocol.mcp_client import Hello

__all__ = ["LEVELS", "Wished", "Wishes"]

log = logging.getLogger("gatewright.upstream")

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""MCP's log levels, most verbose first."""

_PATIENCE_S = 10.0
_ACKNOWLEDGED_S = 3.0
_LONG_S = 60.0

LISTEN_PAUSE_S = 1.0
"""How long after its end a listening begins anew; doubles up to half a minute."""

_EMPTY = Answer(b"{}")
_UNHEARD = Refusal(
    "invalid_request",
    "this asks to be told of changes, and there is no session to tell them in: begin one with initialize, "
    "or ask with subscriptions/listen",
)


class Wished(Protocol):
    """What wishes need of their server."""

    id: str

    @property
    def hello(self) -> Hello:
        """What it said of itself when it was last connected."""

    @property
    def link(self) -> Link | None:
        """The main connection, while it is there."""

    def has_own(self, call: Call) -> bool:
        """Whether the call goes on a connection of its session's own."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    def look(self) -> None:
        """Fetch the lists anew."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""

    async def call_common(
        self, method: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """The same on the connection that is shared."""


class Wishes:
    """The wishes about one server."""

    def __init__(self, server: Wished) -> None:
        self._server = server
        self._levels: dict[str, str] = {}
        self._level: str | None = None
        self._holders: dict[str, set[str]] = {}
        self._told: set[str] = set()
        """The resources that the server said yes to."""
        self._listen: asyncio.Task[None] | None = None

    # -- log levels ----------------------------------------------------------------------------------

    async def level(self, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One session's `logging/setLevel`."""
        if self._server.has_own(call):
            return await self._server.call("logging/setLevel", params, call, back)
        if call.holder is None:
            return _UNHEARD
        level = params.get("level")
        self._levels[call.holder] = level if level in LEVELS else LEVELS[0]
        wanted = self._most_verbose()
        modern = self._server.hello.modern
        if modern or wanted == self._level:
            return _EMPTY
        outcome = await self._server.call_common(
            "logging/setLevel", {**params, "level": wanted}, call, back
        )
        if isinstance(outcome, Answer):
            self._level = wanted
            return _EMPTY
        return outcome

    def _most_verbose(self) -> str | None:
        return min(self._levels.values(), key=LEVELS.index, default=None)

    # -- resources -----------------------------------------------------------------------------------

    async def subscribe(self, uri: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One holder's wish to hear of a resource; the server hears of the first."""
        if self._server.has_own(call):
            return await self._server.call("resources/subscribe", params, call, back)
        if call.holder is None:
            return _UNHEARD
        holders = self._holders.setdefault(uri, set())
        already = call.holder in holders
        holders.add(call.holder)
        if uri in self._told:
            return _EMPTY
        outcome: Outcome | None = None
        try:
            outcome = await self._tell(uri, params, call, back)
            return outcome
        finally:
            if not (isinstance(outcome, Answer) or already):
                self._release(uri, call.holder)

    async def _tell(self, uri: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Ask the server, who is asked again as long as it has not said yes: nobody is told so in its place."""
        if self._server.hello.modern:
            await self._listen_anew()
            outcome: Outcome = _EMPTY
        else:
            outcome = await self._server.call_common("resources/subscribe", params, call, back)
        if isinstance(outcome, Answer) and uri in self._holders:
            self._told.add(uri)
        return outcome

    async def unsubscribe(
        self, uri: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """The end of one holder's wish; the server hears of the last."""
        if self._server.has_own(call):
            return await self._server.call("resources/unsubscribe", params, call, back)
        if call.holder is None:
            return _UNHEARD
        if not self._release(uri, call.holder):
            return _EMPTY
        if self._server.hello.modern:
            await self._listen_anew()
            return _EMPTY
        return await self._server.call_common("resources/unsubscribe", params, call, back)

    def _release(self, uri: str, holder: str) -> bool:
        """True where that was the last who held the resource."""
        holders = self._holders.get(uri)
        if holders is None or holder not in holders:
            return False
        holders.remove(holder)
        if holders:
            return False
        del self._holders[uri]
        self._told.discard(uri)
        return True

    # -- connections and sessions --------------------------------------------------------------------

    def follow(self, before: Wishes) -> None:
        """Want what another server was to tell."""
        self._levels.update(before._levels)
        for uri, holders in before._holders.items():
            self._holders.setdefault(uri, set()).update(holders)

    def forget(self, session: str) -> None:
        """A session is over, and wants nothing any more."""
        self._levels.pop(session, None)
        freed = [uri for uri, who in list(self._holders.items()) if session in who]
        freed = [uri for uri in freed if self._release(uri, session)]
        if freed:
            self._server.spawn(self._withdraw(freed))

    async def _withdraw(self, uris: list[str]) -> None:
        link = self._server.link
        if link is None or link.hello is None:
            return
        if link.hello.modern:
            await self._listen_anew()
            return
        for uri in uris:
            await link.fetch("resources/unsubscribe", {"uri": uri}, _PATIENCE_S)

    async def close(self) -> None:
        """Listen no more. Returns when that has ended."""
        listen, self._listen = self._listen, None
        if listen is not None:
            listen.cancel()
            await asyncio.wait([listen])

    async def renew(self, link: Link) -> None:
        """Tell a new connection everything that is wanted. What it refuses is asked for again with the next wish for it."""
        self._level = None
        self._told.clear()
        hello = link.hello
        if hello is None:
            return
        if hello.modern:
            await self._listen_anew()
            return
        wanted = self._most_verbose()
        known = wanted is not None and "logging" in hello.capabilities
        if known and await self._said(link, "logging/setLevel", {"level": wanted}):
            self._level = wanted
        for uri in list(self._holders):
            if await self._said(link, "resources/subscribe", {"uri": uri}) and uri in self._holders:
                self._told.add(uri)

    async def _said(self, link: Link, method: str, params: dict[str, Any]) -> bool:
        """Whether a connection was told and took it."""
        if not link.open:
            return False
        try:
            await link.fetch(method, params, _PATIENCE_S)
        except UpstreamFailed as problem:
            log.warning("server %s: a wish could not be renewed: %s", self._server.id, problem)
            return False
        return True

    async def _listen_anew(self) -> None:
        """Replace the one listening request to a modern server by one for all that is wanted now.

        The old one ends when the new one is acknowledged: what changed between the two would be
        told to nobody, and never again."""
        before, self._listen = self._listen, None
        link = self._server.link
        wanted = self._all_wanted(link)
        told: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if before is not None:
            told.add_done_callback(lambda _: before.cancel())
        if link is None or not wanted:
            _set(told)
        else:
            work = self._listening(link, {"notifications": wanted}, told)
            self._listen = asyncio.get_running_loop().create_task(work)
            self._listen.add_done_callback(lambda _: _set(told))
        await asyncio.wait([told], timeout=_ACKNOWLEDGED_S)
        if before is not None and told.done():
            await asyncio.wait([before])

    def _all_wanted(self, link: Link | None) -> dict[str, Any]:
        """What a modern server is asked to tell."""
        if link is None or link.hello is None:
            return {}
        held = {"resourceSubscriptions": list(self._holders)} if self._holders else {}
        return {**_filter(link.hello.capabilities), **held}

    async def _listening(
        self, link: Link, params: dict[str, Any], told: asyncio.Future[None]
    ) -> None:
        loop = asyncio.get_running_loop()
        pause_s = LISTEN_PAUSE_S
        while link.open:
            begun = loop.time()
            try:
                await link.listen(params, told)
            except UpstreamFailed as problem:
                log.info("server %s: listening ended: %s", self._server.id, problem)
                if "-32601" in str(problem):
                    return
            _set(told)
            pause_s = LISTEN_PAUSE_S if loop.time() - begun > _LONG_S else min(30.0, pause_s * 2)
            await asyncio.sleep(pause_s)
            # Whatever changed meanwhile was told to nobody.
            told = loop.create_future()
            told.add_done_callback(lambda _: self._server.look())


def _set(told: asyncio.Future[None]) -> None:
    if not told.done():
        told.set_result(None)


def _filter(capabilities: Any) -> dict[str, Any]:
    """The changes a modern server says it announces."""
    wanted: dict[str, Any] = {}
    for name in ("tools", "prompts", "resources"):
        found = capabilities.get(name)
        if isinstance(found, dict) and found.get("listChanged"):
            wanted[f"{name}ListChanged"] = True
    return wanted

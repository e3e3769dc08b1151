"""`ServerEvents`: subscribes at MGP servers to event channels that clients want, passes their events on, unsubscribes after the last client.

Clients that want the same of a server share one subscription there. It is made on the server's main connection, and made again
whenever that is a new one. What a server sends under an id that it did not give out is dropped.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Caller
from gatewright.events.channels import LONGEST_NAME, is_channel, matches, severity_of
from gatewright.events.subscriptions import Said, Subscription, Subscriptions
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.supervisor import Supervisor

__all__ = ["EVENT_MOST", "SERVER_MOST", "ServerEvents"]

log = logging.getLogger("gatewright.events")

SERVER_MOST = 256
"""Subscriptions at one server."""

ANSWERS_S = 5.0
"""How long a server has to answer a subscription: who asked for it waits meanwhile."""

EVENT_MOST = 64 * 1024
"""Bytes of one event, as JSON: it goes to everybody who wants it."""

_EARLY = 100
_WARNED_MOST = 256
_WORD_MOST = 128


class _Key(NamedTuple):
    server: str
    channels: tuple[str, ...]
    severity: str | None


class _Held(msgspec.Struct, eq=False):
    """A subscription at a server, and who shares it."""

    key: _Key
    link: Link
    number: int
    done: asyncio.Future[tuple[str, ...]]
    """What the server honours, once it has answered."""
    ident: Any = None
    users: list[Subscription] = []

    @property
    def stands(self) -> bool:
        """Whether its server still knows it: a connection that is made anew may be to another one."""
        return self.link.open and self.number == self.link.told_on


class ServerEvents:
    """`timestamp` is for events of servers that say no time."""

    def __init__(
        self, servers: Supervisor, every: Subscriptions, timestamp: Callable[[], str]
    ) -> None:
        self._servers = servers
        self._every = every
        self._timestamp = timestamp
        self._held: dict[_Key, _Held] = {}
        self._early: dict[str, deque[bytes]] = {}
        """By server, as text: events that came while it was being asked, whose id may be in the answer."""
        self._warned: set[str] = set()
        self._seen: Mapping[str, int] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- wanting -------------------------------------------------------------------------------------

    async def want(self, one: Subscription) -> set[str]:
        """Subscribe to what was asked for at every server that its caller may see; which of that any server has."""
        links, channels = self._connections(), tuple(sorted(one.asked))
        seen = self._servers.catalogue.servers(one.profile, one.caller)
        keys = [_Key(name, channels, one.severity) for name in seen if name in links]
        found = await asyncio.gather(*(self._ask(key, links[key.server], one) for key in keys))
        return {name for honoured in found for name in honoured}

    def _connections(self) -> dict[str, Link]:
        """The servers that take part, as they are connected now."""
        found = {}
        for name, server in self._servers.fleet.servers.items():
            link = server.link
            hello = None if link is None or not link.open else link.hello
            mgp = None if hello is None else hello.mgp
            if link is not None and mgp is not None and "bidirectional" in mgp.extensions:
                found[name] = link
        return found

    async def _ask(self, key: _Key, link: Link, one: Subscription) -> tuple[str, ...]:
        if one not in self._every:  # it ended before this had its turn, and would never end again
            return ()
        held = self._held.get(key)
        if held is None or held.link is not link or held.number != link.told_on:
            users = [] if held is None else held.users
            if (
                held is None
                and sum(each.server == key.server for each in self._held) >= SERVER_MOST
            ):
                return ()
            done: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
            held = self._held[key] = _Held(key, link, link.told_on, done, users=users)
            self._spawn(self._subscribe(held))
        if one not in held.users:
            held.users.append(one)
        return await asyncio.shield(held.done)

    async def _subscribe(self, held: _Held) -> None:
        key, early = held.key, self._early.setdefault(held.key.server, deque(maxlen=_EARLY))
        honoured: tuple[str, ...] = ()
        try:
            params: dict[str, Any] = {"channels": list(key.channels)}
            if key.severity is not None:
                params["filter"] = {"min_severity": key.severity}
            answer = await held.link.fetch("mgp/events/subscribe", params, ANSWERS_S)
            held.ident, honoured = _read(answer, key.channels)
        except (ServerFailed, ValueError) as problem:
            log.info("server %s: no events of %s: %s", key.server, ", ".join(key.channels), problem)
        finally:
            held.done.set_result(honoured)
            if not any(not each.done.done() for each in self._held.values()):
                self._early.clear()
        if self._held.get(key) is held and not (honoured and held.users):
            self._give_up(held)
        for raw in tuple(early):
            params = jsonrpc.decode(raw)
            if params.get("subscription_id") == held.ident:
                self._tell(held, params)

    def _give_up(self, held: _Held) -> None:
        if self._held.get(held.key) is held:
            del self._held[held.key]
        if held.ident is not None and held.stands:
            self._spawn(self._unsubscribe(held))

    async def _unsubscribe(self, held: _Held) -> None:
        try:
            params = {"subscription_id": held.ident}
            await held.link.fetch("mgp/events/unsubscribe", params, ANSWERS_S)
        except ServerFailed as problem:
            log.info("server %s: %s", held.key.server, problem)

    def ended(self, one: Subscription) -> None:
        """Somebody wants no more."""
        for held in tuple(self._held.values()):
            if one in held.users:
                held.users.remove(one)
                if not held.users and held.done.done():
                    self._give_up(held)

    def look(self) -> None:
        """Ask servers anew that were connected since, or are other ones."""
        if not len(self._every):
            self._seen = {}
            return
        for key in tuple(self._held):
            if (
                key.server not in self._servers.fleet.servers
            ):  # servers come and go, subscriptions stay
                del self._held[key]
        now = {name: link.told_on for name, link in self._connections().items()}
        if now != self._seen:
            self._seen = now
            for one in self._every:
                if one.channels:
                    self._spawn(self.want(one))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            log.error("events of a server could not be asked for", exc_info=problem)

    async def close(self) -> None:
        """Nothing is asked any more."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- hearing -------------------------------------------------------------------------------------

    def take(self, said: tuple[str, dict[str, Any]]) -> None:
        """Take an event of a server."""
        server, params = said
        ident, known = params.get("subscription_id"), False
        if not isinstance(ident, str | int):
            return
        raw = jsonrpc.encode(params)
        if len(raw) > EVENT_MOST:
            self._large(server)
            return
        for held in tuple(self._held.values()):
            if held.key.server == server and held.ident == ident and held.done.done():
                if not held.stands:
                    continue
                known = True
                self._tell(held, params)
        early = self._early.get(server)
        if not known and early is not None:
            early.append(raw)

    def _large(self, server: str) -> None:
        if server not in self._warned and len(self._warned) < _WARNED_MOST:
            self._warned.add(server)
            log.warning("server %s sent an event of more than %d bytes: nobody hears those", server, EVENT_MOST)  # fmt: skip

    def _tell(self, held: _Held, params: dict[str, Any]) -> None:
        channel, data = params.get("channel"), params.get("data", {})
        if not isinstance(channel, str) or not is_channel(channel) or channel.endswith("*"):
            return
        stated = params.get("severity", data.get("severity") if isinstance(data, dict) else None)
        severity, time = severity_of(stated), params.get("timestamp")
        server = held.key.server
        told: dict[str, Any] = {
            "channel": channel,
            "timestamp": time if _is_word(time) else self._timestamp(),
            "data": data,
            "server_id": server,
        }
        if severity is not None:
            told["severity"] = stated

        def may(caller: Caller, profile: str, session: str | None) -> bool:
            catalogue = self._servers.catalogue
            return catalogue.knows(profile) and server in catalogue.servers(profile, caller)

        said = Said(told)
        for one in tuple(held.users):
            if any(matches(pattern, channel) for pattern in one.channels):
                self._every.tell(one, severity, may, lambda _: said)


def _is_word(said: Any) -> bool:
    return isinstance(said, str) and 0 < len(said) <= _WORD_MOST and said.isprintable()


def _read(raw: bytes, asked: tuple[str, ...]) -> tuple[Any, tuple[str, ...]]:
    """The id of a subscription, and which of what was asked for it has. Raises `ValueError`."""
    found = jsonrpc.decode(raw)
    if not isinstance(found, dict):
        raise ValueError("the answer is no object")  # noqa: TRY004 - bad input
    ident, names = found.get("subscription_id"), found.get("subscribed")
    if not isinstance(ident, str | int) or len(str(ident)) > LONGEST_NAME:
        raise ValueError(f"subscription_id is no string of at most {LONGEST_NAME} characters")
    return ident, tuple(one for one in asked if isinstance(names, list) and one in names)

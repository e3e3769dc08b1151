"""`ServerEvents`: one subscription at an MGP server for all clients that want the same events; passes these on, rate limited; resubscribes.

Clients that want the same of a server share one subscription on its main connection, made again whenever that is a new one. What a server sends under an id that it did not give out is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Coroutine, Generator, Hashable, Mapping
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Caller
from gatewright.events.channels import LONGEST_NAME, is_channel, of_servers, severity_of
from gatewright.events.event_rate import RATE, EventRate
from gatewright.events.subscription import Said, Subscription
from gatewright.events.subscriptions import Subscriptions
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.resource_subscriptions import SEVERAL
from gatewright.servers.supervisor import Supervisor
from gatewright.transport.slices import in_slices

__all__ = ["CALLER_MOST", "DROPPED", "EVENT_MOST", "SERVER_MOST", "ServerEvents"]

log = logging.getLogger("gatewright.events")

SERVER_MOST, CALLER_MOST = 256, 16
"""Subscriptions at one server, and those of one caller that differ; callers without a name are one here."""

DROPPED = "dropped"
"""The member of an event that says how many of its subscription at its server were left out before it."""

ANSWERS_S, WAITS_S = 5.0, 0.5
"""How long a server has to answer a subscription, and how long of that who asked for it waits."""

AGAIN_S = 5.0
"""How long after a failure of the gateway's own servers are asked again."""

EVENT_MOST = 64 * 1024
"""Bytes of one event, as JSON: it goes to everybody who wants it."""

_EARLY, _WARNED_MOST, _WORD_MOST = 100, 256, 128


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
    users: dict[Subscription, Hashable] = {}
    """Who each is of."""
    whose: Counter[Hashable] = msgspec.field(default_factory=Counter)
    """How many of them each caller has."""

    def add(self, one: Subscription) -> None:
        if one not in self.users:
            who = self.users[one] = one.caller.who
            self.whose[who] += 1

    def remove(self, one: Subscription) -> None:
        who = self.users.pop(one, None)
        self.whose[who] -= 1
        if self.whose[who] <= 0:
            del self.whose[who]

    @property
    def party(self) -> str:
        """Who shares it, where that is one holder: what its server logs for its sake is nobody else's (`Link.fetch`)."""
        holders = {one.party for one in self.users}
        return holders.pop() if len(holders) == 1 else SEVERAL

    @property
    def stands(self) -> bool:
        """Whether its server still knows it: a connection that is made anew may be to another one."""
        return self.link.open and self.number == self.link.told_on


class ServerEvents:
    """`timestamp` is for events of servers that say no time, `clock` gives monotonic seconds."""

    def __init__(
        self,
        servers: Supervisor,
        every: Subscriptions,
        timestamp: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._servers = servers
        self._every = every
        self._timestamp = timestamp
        self._held: dict[str, dict[_Key, _Held]] = {}
        """By server."""
        self._keys: dict[Subscription, set[_Key]] = {}
        """What each was ever added to."""
        self._early: dict[str, deque[bytes]] = {}
        """By server, as text: events that came while it was being asked, whose id may be in the answer."""
        self._waiting: Counter[str] = Counter()
        """How many answers of each are waited for."""
        self._warned: set[tuple[str, str]] = set()
        self._clock = clock
        self._rates: dict[str, EventRate] = {}
        self.dropped: Counter[str] = Counter()
        """Events of each server that came too fast."""
        self._seen: Mapping[str, int] = {}
        self._anew: set[str] = set()
        """Servers that everybody is still to be subscribed to, whoever is at it."""
        self._asking = False
        self._not_before = float("-inf")
        """Where asking anew has failed: when it is tried again."""
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- wanting -------------------------------------------------------------------------------------

    async def want(self, one: Subscription) -> set[str]:
        """Subscribe to what was asked for at every server that its caller may see; which of that any server has. Of a server that
        does not answer soon, what it has is accepted once it answers (`Subscription.pending`)."""
        asking = [held.done for held in self._ask_each(one, self._connections())]
        if not asking:
            return set()
        done, late = await asyncio.wait(asking, timeout=WAITS_S)
        found = {name for each in done for name in each.result()}
        one.pending = frozenset(one.asked) - found if late else frozenset()
        return found

    def _connections(self, names: Collection[str] | None = None) -> dict[str, Link]:
        """The servers that take part, all or those of some names, as they are connected now."""
        found, fleet = {}, self._servers.fleet.servers
        for name in fleet if names is None else fleet.keys() & names:
            link = fleet[name].link
            hello = None if link is None or not link.open else link.hello
            mgp = None if hello is None else hello.mgp
            if link is not None and mgp is not None and "bidirectional" in mgp.extensions:
                found[name] = link
        return found

    def _ask_each(self, one: Subscription, links: Mapping[str, Link]) -> list[_Held]:
        if one not in self._every:  # it ended before this had its turn, and would never end again
            return []
        channels = tuple(sorted(name for name in one.asked if of_servers(name, one.caller)))
        catalogue = self._servers.catalogue
        if not channels or not catalogue.knows(one.profile):
            return []
        seen = catalogue.servers(one.profile, one.caller)
        keys = [_Key(name, channels, one.severity) for name in seen if name in links]
        asked = [self._ask(key, links[key.server], one) for key in keys]
        return [held for held in asked if held is not None]

    def _ask(self, key: _Key, link: Link, one: Subscription) -> _Held | None:
        there = self._held.get(key.server, {})
        held = there.get(key)
        if held is None or held.link is not link or held.number != link.told_on:
            if held is None and not _has_room(there, one.caller):
                self._warn(key.server, "has no room for more subscriptions: some callers hear nothing of it")  # fmt: skip
                return None
            done: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
            made = _Held(key, link, link.told_on, done)
            if held is not None:
                made.users, made.whose = held.users, held.whose
            held = self._held.setdefault(key.server, {})[key] = made
            self._spawn(self._subscribe(held))
        held.add(one)
        link.serves(one.party)
        self._keys.setdefault(one, set()).add(key)
        return held

    async def _subscribe(self, held: _Held) -> None:
        key, early = held.key, self._early.setdefault(held.key.server, deque(maxlen=_EARLY))
        self._waiting[key.server] += 1
        honoured: tuple[str, ...] = ()
        try:
            params: dict[str, Any] = {"channels": list(key.channels)}
            if key.severity is not None:
                params["filter"] = {"min_severity": key.severity}
            answer = await held.link.fetch("mgp/events/subscribe", params, ANSWERS_S, held.party)
            held.ident, honoured = _read(answer, key.channels)
        except (ServerFailed, ValueError) as problem:
            log.info("server %s: no events of %s: %s", key.server, ", ".join(key.channels), problem)
        finally:
            await self._answered(held, honoured)
            self._waiting[key.server] -= 1
            if self._waiting[key.server] <= 0:
                del self._waiting[key.server], self._early[key.server]
        if self._held_as(key) is held and not (honoured and held.users):
            self._give_up(held)
        self._share(key.server)
        for raw in tuple(early):
            params = jsonrpc.decode(raw)
            if params.get("subscription_id") == held.ident:
                self._tell(held, params)

    async def _answered(self, held: _Held, honoured: tuple[str, ...]) -> None:
        """Let those hear it who were answered before the server had answered; then whoever waits for it."""
        try:
            while late := [one for one in held.users if one.pending.intersection(honoured)]:
                await in_slices(self._every.accept_late(late, honoured))
        finally:
            held.done.set_result(honoured)

    def _held_as(self, key: _Key) -> _Held | None:
        return self._held.get(key.server, {}).get(key)

    def _give_up(self, held: _Held) -> None:
        if self._held_as(held.key) is held:
            there = self._held[held.key.server]
            del there[held.key]
            if not there:
                del self._held[held.key.server]
        if held.ident is not None and held.stands:
            self._spawn(self._unsubscribe(held))

    async def _unsubscribe(self, held: _Held) -> None:
        try:
            params = {"subscription_id": held.ident}
            await held.link.fetch("mgp/events/unsubscribe", params, ANSWERS_S, held.party)
        except ServerFailed as problem:
            log.info("server %s: %s", held.key.server, problem)

    def ended(self, one: Subscription) -> None:
        """Somebody wants no more."""
        for key in self._keys.pop(one, ()):
            held = self._held_as(key)
            if held is not None and one in held.users:
                held.remove(one)
                if not held.users and held.done.done():
                    self._give_up(held)
                    self._share(key.server)

    def moved(self, one: Subscription, former: str | None) -> None:
        """Its caller hears it elsewhere now, and what servers log for the sake of the `former` party alone as well, where that has gone."""
        for held in filter(None, map(self._held_as, self._keys.get(one, ()))):
            if one in held.users and former is not None and held.link.sole == former:
                held.link.sole = one.party
            elif one in held.users:
                held.link.serves(one.party)

    def _share(self, server: str) -> None:
        """Let each subscription at a server have its part of what the server may say."""
        there = self._held.get(server, {}).values()
        idents = {held.ident for held in there if held.ident is not None}
        self._rate(server).share(self._clock(), idents)

    def look(self) -> None:
        """Ask servers anew that were connected since, or are other ones."""
        if not len(self._every):
            self._seen = {}
            return
        # Servers come and go, subscriptions stay.
        for kept in (self._held, self._rates):
            for name in kept.keys() - self._servers.fleet.servers.keys():
                del kept[name]
        now = {name: link.told_on for name, link in self._connections().items()}
        self._anew |= {name for name in now if now[name] != self._seen.get(name)}
        self._seen = now
        if self._anew and not self._asking and self._clock() >= self._not_before:
            self._asking = True
            self._spawn(in_slices(self._ask_anew()))

    def _ask_anew(self) -> Generator[None, None, None]:
        """Subscribe everybody to what they want at the servers that are still to be asked. Those at which that fails are asked again
        after a while, and what fails for one keeps no other from hearing."""
        problem: Exception | None = None
        names: set[str] = set()
        try:
            while self._anew and problem is None:
                names, self._anew = self._anew, set()
                for one in self._every:
                    if one.channels or one.pending:
                        try:
                            self._ask_each(one, self._connections(names))
                        except Exception as found:  # noqa: BLE001 - raised below, when all others were asked
                            problem = found
                        yield
                if problem is None:
                    names = set()
            if problem is not None:
                self._not_before = self._clock() + AGAIN_S
                raise problem
        finally:
            self._anew |= names
            self._asking = False

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
        if not isinstance(ident, str | int) or not self._takes(server, ident):
            return
        raw = jsonrpc.encode(params)
        if len(raw) > EVENT_MOST:
            self._warn(server, f"sent an event of more than {EVENT_MOST} bytes: nobody hears those")
            return
        dropped = self._rate(server).dropped.pop(ident, 0)
        for held in tuple(self._held.get(server, {}).values()):
            if held.ident == ident and held.done.done():
                if not held.stands:
                    continue
                known = True
                self._tell(held, params, dropped)
        early = self._early.get(server)
        if not known and early is not None:
            early.append(raw)

    def _takes(self, server: str, ident: str | int) -> bool:
        """Whether a server may say something now."""
        if self._rate(server).takes(self._clock(), ident, room=self._every.room(server)):
            return True
        self.dropped[server] += 1
        self._warn(server, f"sends more than {RATE} events a second: nobody hears what is more")
        return False

    def _rate(self, server: str) -> EventRate:
        found = self._rates.get(server)
        if found is None:
            found = self._rates[server] = EventRate(self._clock())
        return found

    def _warn(self, server: str, what: str) -> None:
        if (server, what) not in self._warned and len(self._warned) < _WARNED_MOST:
            self._warned.add((server, what))
            log.warning("server %s %s", server, what)

    def _tell(self, held: _Held, params: dict[str, Any], dropped: int = 0) -> None:
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
        if dropped:
            told[DROPPED] = dropped

        def may(caller: Caller, profile: str, session: str | None) -> bool:
            seen, open_ = self._servers.catalogue, of_servers(channel, caller)
            return open_ and seen.knows(profile) and server in seen.servers(profile, caller)

        said = Said(told)
        some = [one for one in self._every.about(channel) if one in held.users]
        self._every.tell_all(some, severity, may, lambda _: said, server, said.size)


def _has_room(there: Mapping[_Key, _Held], caller: Caller) -> bool:
    mine = sum(caller.who in each.whose for each in there.values())
    return len(there) < SERVER_MOST and mine < CALLER_MOST


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

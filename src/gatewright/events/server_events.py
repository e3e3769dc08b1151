"""`ServerEvents`: one subscription at an MGP server for all clients that want the same events; passes these on, rate limited; resubscribes.

Clients that want the same of a server share one subscription on its main connection, made again whenever that is a new one. What a server sends under an id that it did not give out is dropped.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Coroutine, Generator, Mapping
from typing import Any

from gatewright.call import Caller
from gatewright.events.channels import is_channel, of_servers, severity_of
from gatewright.events.early_events import EarlyEvents, Ident
from gatewright.events.event_rate import RATE, EventRate
from gatewright.events.server_subscription import Held, Key, has_room, subscribed
from gatewright.events.subscription import Said, Subscription
from gatewright.events.subscriptions import Subscriptions
from gatewright.mcp.client.failures import ServerFailed
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.notification_params import EVENT_BYTES
from gatewright.mcp.client.short_answers import fetch_short
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.supervisor import Supervisor
from gatewright.transport.slices import in_slices

__all__ = ["DROPPED", "EVENT_MOST", "ServerEvents"]

log = logging.getLogger("gatewright.events")

DROPPED = "dropped"
"""The member of an event that says how many of its subscription at its server were left out before it."""

ANSWERS_S, WAITS_S = 5.0, 0.5
"""How long a server has to answer a subscription, and how long of that who asked for it waits."""

AGAIN_S = 5.0
"""How long after a failure of the gateway's own servers are asked again."""

EVENT_MOST = EVENT_BYTES
"""Bytes of one event, as JSON: it goes to everybody who wants it."""

_WARNED_MOST, _WORD_MOST = 256, 128
_SAME_ID = "gives one id to several subscriptions: one of them alone is heard, the first of a session, without sessions the last"


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
        self._held: dict[str, dict[Key, Held]] = {}
        """By server."""
        self._keys: dict[Subscription, set[Key]] = {}
        """What each was ever added to."""
        self._named: dict[str, dict[Ident, Held]] = {}
        """By server, and by what that calls each."""
        self._early: dict[str, EarlyEvents] = {}
        """Of servers that are being asked: their answers may have the ids of these."""
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

    def _ask_each(self, one: Subscription, links: Mapping[str, Link]) -> list[Held]:
        if one not in self._every:  # it ended before this had its turn, and would never end again
            return []
        channels = tuple(sorted(name for name in one.asked if of_servers(name, one.caller)))
        catalogue = self._servers.catalogue
        if not channels or not catalogue.knows(one.profile):
            return []
        seen = catalogue.servers(one.profile, one.caller)
        keys = [Key(name, channels, one.severity) for name in seen if name in links]
        asked = [self._ask(key, links[key.server], one) for key in keys]
        return [held for held in asked if held is not None]

    def _ask(self, key: Key, link: Link, one: Subscription) -> Held | None:
        there = self._held.get(key.server, {})
        held = there.get(key)
        if held is None or held.link is not link or held.number != link.told_on:
            if held is None and not has_room(there, one.caller):
                self._warn(key.server, "has no room for more subscriptions: some callers hear nothing of it")  # fmt: skip
                return None
            done: asyncio.Future[tuple[str, ...]] = asyncio.get_running_loop().create_future()
            made = Held(key, link, link.told_on, done)
            if held is not None:
                made.users, made.whose = held.users, held.whose
                self._unname(held)
            held = self._held.setdefault(key.server, {})[key] = made
            self._spawn(self._subscribe(held))
        held.add(one)
        link.serves(one.party)
        self._keys.setdefault(one, set()).add(key)
        return held

    async def _subscribe(self, held: Held) -> None:
        server, honoured = held.key.server, tuple[str, ...]()
        early = self._early.setdefault(server, EarlyEvents())
        early.waiting += 1
        try:
            try:
                honoured = await self._asked(held)
            finally:
                await self._answered(held, honoured)
            if self._held_as(held.key) is held and not (honoured and held.users):
                self._give_up(held)
            self._share(server)
            await in_slices(self._caught_up(held, early))
        finally:
            early.waiting -= 1
            if not early.waiting:
                del self._early[server]

    async def _asked(self, held: Held) -> tuple[str, ...]:
        """Which of the channels its server tells events of."""
        key = held.key
        params: dict[str, Any] = {"channels": list(key.channels)}
        if key.severity is not None:
            params["filter"] = {"min_severity": key.severity}
        try:
            method = "mgp/events/subscribe"
            answer = await fetch_short(held.link, method, params, ANSWERS_S, held.party)
            ident, honoured = subscribed(answer, key.channels)
            self._name(held, ident)
        except (ServerFailed, ValueError) as problem:
            log.info("server %s: no events of %s: %s", key.server, ", ".join(key.channels), problem)
            return ()
        return honoured

    def _name(self, held: Held, ident: Ident) -> None:
        """Know it by its id from now on. Raises `ValueError` where another one has that: what is said under it would be walked through for
        each of them, and whoever ended one would end all."""
        if self._held_as(held.key) is held:
            there = self._named.setdefault(held.key.server, {})
            other = there.get(ident)
            if other is not None and other.stands:
                self._warn(held.key.server, _SAME_ID)
                if held.link.told_on:
                    raise ValueError("the id is that of another subscription")
                # Without a session it may have begun to count anew: what it says under the id is of the newer one, and the other one has ended.
                other.ident = None
                self._give_up(other)
            there[ident] = held
        held.ident = ident

    def _unname(self, held: Held) -> None:
        there = self._named.get(held.key.server, {})
        if held.ident is not None and there.get(held.ident) is held:
            del there[held.ident]

    def _caught_up(self, held: Held, early: EarlyEvents) -> Generator[None, None, None]:
        """Tell what came before the answer, then what comes."""
        try:
            while self._held_as(held.key) is held and (raw := early.take(held.ident)) is not None:
                self._tell(held, jsonrpc.decode(raw))
                yield
        finally:
            held.told = True

    async def _answered(self, held: Held, honoured: tuple[str, ...]) -> None:
        """Let those hear it who were answered before the server had answered; then whoever waits for it."""
        try:
            while late := [one for one in held.users if one.pending.intersection(honoured)]:
                await in_slices(self._every.accept_late(late, honoured))
        finally:
            held.done.set_result(honoured)

    def _held_as(self, key: Key) -> Held | None:
        return self._held.get(key.server, {}).get(key)

    def _give_up(self, held: Held) -> None:
        if self._held_as(held.key) is held:
            there = self._held[held.key.server]
            del there[held.key]
            if not there:
                del self._held[held.key.server]
        self._unname(held)
        if held.ident is not None and held.stands:
            self._spawn(self._unsubscribe(held))

    async def _unsubscribe(self, held: Held) -> None:
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
        for kept in (self._held, self._named, self._rates):
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
        ident = params.get("subscription_id")
        if not isinstance(ident, str | int) or not self._takes(server, ident):
            return
        dropped = self._rate(server).dropped.pop(ident, 0)
        held = self._named.get(server, {}).get(ident)
        if held is not None and held.told and held.stands:
            self._tell(held, params, dropped)
        elif (early := self._early.get(server)) is not None:
            raw = jsonrpc.encode(params)
            if self._is_short(server, len(raw)):
                early.put(ident, raw)

    def _is_short(self, server: str, size: int) -> bool:
        if size <= EVENT_MOST:
            return True
        self._warn(server, f"sent an event of more than {EVENT_MOST} bytes: nobody hears those")
        return False

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

    def _tell(self, held: Held, params: dict[str, Any], dropped: int = 0) -> None:
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

        some = self._every.among(channel, held.users)
        if not some:
            return
        said = Said(told)
        if self._is_short(server, said.size):
            self._every.tell_all(some, severity, may, lambda _: said, server, said.size)


def _is_word(said: Any) -> bool:
    return isinstance(said, str) and 0 < len(said) <= _WORD_MOST and said.isprintable()

"""Resource subscriptions on one server connection: tracks holders per resource, asks the server once, and again on reconnect.

A holder (a session, or one open `subscriptions/listen`) holds a resource under every name by which it was granted it. Who asks
is told what the server answers, so several may ask for one resource at a time; the server hears that a resource is not wanted
any more only where nobody holds it and nobody asks for it. What it is told twice does no harm; what it was told in another
order than was meant, it is told again. A modern server has one `subscriptions/listen` for all of it (`listen_request`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.mcp.client.link import Link
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.listen_request import Listening

__all__ = ["SEVERAL", "SubscribeWay", "Subscriptions", "name_of"]

log = logging.getLogger("gatewright.servers")

AGAIN_S = 5.0
"""How long after a new connection refused some of what is held it is asked for that once more."""

SEVERAL = "several"
"""No session is called so, nor a listening."""

_SUBSCRIBE = "resources/subscribe"
_UNSUBSCRIBE = "resources/unsubscribe"
_EMPTY = Answer(b"{}")


class SubscribeWay(Protocol):
    """What subscriptions need of their connection."""

    id: str

    @property
    def hello(self) -> Hello:
        """What the server said of itself."""

    @property
    def link(self) -> Link | None:
        """The connection, while it is there."""

    @property
    def call_s(self) -> float:
        """How long a call may take that says nothing else."""

    def party(self, holder: str) -> str:
        """For whom, of those with whom servers speak, a holder wants what it wants."""

    async def ready(self) -> Failure | None:
        """Wait for the connection; why there is none, if so."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    def look(self) -> None:
        """Fetch the lists anew."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""

    async def said(self, link: Link, method: str, params: dict[str, Any]) -> bool | None:
        """Whether a connection was told and took it; None where it did not say."""


class _Ask:
    """One request for a resource that is not answered yet."""

    __slots__ = ("dropped", "holder", "late", "name", "uri")

    def __init__(self, uri: str, holder: str, name: str) -> None:
        self.uri = uri
        self.holder = holder
        self.name = name
        self.dropped = False
        """Its holder does not want it any more."""
        self.late = False
        """The server heard something else of the resource since, or is another connection."""


class Subscriptions:
    """See the module's text. `changes` says whether changed lists are listened for here as well."""

    def __init__(self, way: SubscribeWay, *, changes: bool) -> None:
        self._way = way
        self.held: dict[str, dict[str, set[str]]] = {}
        """By resource: who holds it, and under which names."""
        self._led: dict[str, dict[str, str]] = {}
        """The same by holder: name → resource."""
        self._asked: dict[str, list[_Ask]] = {}
        """By resource."""
        self._asking: dict[str, list[_Ask]] = {}
        """The same by holder."""
        self.told: set[str] = set()
        """What the server said yes to, and was not told otherwise since."""
        self._round = 0
        """How often all of it was told anew."""
        self._listening = Listening(way, self.wanted, self.told, changes=changes)

    def wants(self, uri: str) -> bool:
        """Whether anybody holds a resource, or asks for it."""
        return uri in self.held or any(not one.dropped for one in self._asked.get(uri, ()))

    def names(self, uri: str, holder: str) -> set[str]:
        """The names under which somebody hears of a resource: what the server says before its yes is known here is meant for
        who asked, too."""
        asked = {one.name for one in self._asks(holder) if one.uri == uri}
        return asked.union(self.held.get(uri, {}).get(holder, ()))

    def led(self, name: str, holder: str) -> str | None:
        """The resource that somebody holds, or asks for, under a name."""
        held = self._led.get(holder, {}).get(name)
        asked = (one.uri for one in self._asks(holder) if one.name == name)
        return next(asked, None) if held is None else held

    def number(self, holder: str) -> int:
        """How many resources somebody holds or asks for, each under each name of it."""
        return len(self._led.get(holder, ())) + len(self._asks(holder))

    def _asks(self, holder: str) -> list[_Ask]:
        return [one for one in self._asking.get(holder, ()) if not one.dropped]

    def holds(self, uri: str, name: str, holder: str) -> bool:
        """Whether somebody holds a resource under a name."""
        return name in self.held.get(uri, {}).get(holder, ())

    def holders(self, uri: str) -> set[str]:
        """Who wants word of a resource."""
        asking = (one.holder for one in self._asked.get(uri, ()) if not one.dropped)
        return {*self.held.get(uri, ()), *asking}

    def party(self, uri: str) -> str:
        """Who wants word of a resource, where that is one party: else `SEVERAL`, also where nobody does any more."""
        holders = self.holders(uri)
        return self._way.party(holders.pop()) if len(holders) == 1 else SEVERAL

    def wanted(self) -> list[str]:
        """All that somebody holds or asks for."""
        return [uri for uri in dict.fromkeys((*self.held, *self._asked)) if self.wants(uri)]

    # -- what holders say ----------------------------------------------------------------------------

    async def subscribe(
        self, uri: str, holder: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """One holder's wish to hear of a resource; the server hears of the first."""
        if uri in self.told:
            self.hold(uri, holder, {name_of(call, uri)})
            return _EMPTY
        ask, outcome = _Ask(uri, holder, name_of(call, uri)), None
        self._asked.setdefault(uri, []).append(ask)
        self._asking.setdefault(holder, []).append(ask)
        try:
            outcome = await self._tell(uri, params, call, back)
        finally:
            _remove(self._asked, uri, ask)
            _remove(self._asking, holder, ask)
            if _unknown(outcome) and not self.wants(uri) and uri not in self.told:
                self._way.spawn(self._withdraw([uri]))  # it may say yes yet
        if isinstance(outcome, Answer) and not ask.dropped:
            self.hold(uri, holder, {name_of(call, uri)})
            if not ask.late:
                self.told.add(uri)
        return outcome

    async def _tell(self, uri: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Ask the server, who is asked again as long as it has not said yes: nobody is told so in its place."""
        if self._way.hello.modern:
            problem = await self._way.ready()
            self._serve(call.party)
            return problem or await self._listened(uri, call) or _EMPTY
        return await self._way.call(_SUBSCRIBE, params, call, back)

    async def _listened(self, uri: str | None, call: Call) -> Failure | None:
        """Have the listening changed, as long as the call may take: a server that acknowledges nothing takes seconds for each that
        is asked for, and all who wait have one after the other."""
        loop = asyncio.get_running_loop()
        most = loop.time() + self._way.call_s if call.deadline is None else call.deadline
        try:
            async with asyncio.timeout_at(most):
                return await self._listening.tell(uri)
        except TimeoutError:
            said = f"server {self._way.id} did not say in time whether it tells of this; ask again later"
            return Failure("upstream_timeout", said)

    def _serve(self, *parties: str) -> None:
        """These are listened for, by a request that is nobody's call."""
        link = self._way.link
        if link is not None:
            for party in parties:
                link.serves(party)

    def take(self, holder: str, other: Subscriptions) -> None:
        """Hold what a holder holds on another connection."""
        for name, uri in other._led.get(holder, {}).items():
            self.hold(uri, holder, [name])

    def hold(self, uri: str, holder: str, names: Iterable[str]) -> None:
        """Somebody was granted word of a resource. By each name it hears of one: of the last that was granted."""
        for name in names:
            before = self._led.get(holder, {}).get(name, uri)
            if before != uri and self.let_go(before, holder, name):
                self._way.spawn(self._withdraw([before]))
            self._led.setdefault(holder, {})[name] = uri
            self.held.setdefault(uri, {}).setdefault(holder, set()).add(name)

    async def unsubscribe(
        self, uri: str, holder: str, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """The end of one holder's wish under one name; the server hears of the last."""
        if not self.let_go(uri, holder, name_of(call, uri)):
            return _EMPTY
        if self._way.hello.modern:
            await self._listened(
                None, call
            )  # nobody hears of it any more, whatever the server says
            return _EMPTY
        self.told.discard(uri)
        try:
            # `told` is without it already: who subscribes meanwhile has to ask the server again.
            return await self._way.call(_UNSUBSCRIBE, params, call, back)
        finally:
            self._after(uri)

    def let_go(self, uri: str, holder: str, name: str) -> bool:
        """Somebody wants no word of a resource under a name any more. True where nobody wants any then, and somebody did."""
        known = self._drop(uri, holder)
        if self.holds(uri, name, holder):
            known = True
            self._release(uri, holder, name)
        return known and not self.wants(uri)

    def leave(self, uri: str, holder: str, call: Call) -> None:
        """The same, for somebody whose call is led elsewhere."""
        if self.let_go(uri, holder, name_of(call, uri)):
            self._way.spawn(self._withdraw([uri]))

    def take_over(self, uri: str, holder: str, names: Iterable[str]) -> None:
        """Somebody was granted word of a resource elsewhere, and this is where it is told from now on."""
        if names:
            self.hold(uri, holder, names)
            self._way.spawn(self._tell_alone(uri))

    async def _tell_alone(self, uri: str) -> None:
        link, now = self._way.link, self._round
        if link is None or link.hello is None or uri in self.told:
            return  # told with the next connection
        if link.hello.modern:
            self._serve(*map(self._way.party, self.held.get(uri, ())))
            await self._listening.tell(uri)
        elif await self._way.said(link, _SUBSCRIBE, {"uri": uri}):
            self._told(uri, now)

    def _drop(self, uri: str, holder: str) -> bool:
        """What somebody asks for at the moment it does not want any more. Whether there was any of it."""
        dropped = [one for one in self._asking.get(holder, ()) if one.uri == uri]
        for one in dropped:
            one.dropped = True
        return bool(dropped)

    def _release(self, uri: str, holder: str, name: str) -> None:
        holders, mine = self.held[uri], self._led[holder]
        del mine[name]
        holders[holder].remove(name)
        if not holders[holder]:
            del holders[holder]
        if not holders:
            del self.held[uri]
        if not mine:
            del self._led[holder]

    def _after(self, uri: str) -> None:
        """The server was told that a resource is not wanted. Where somebody asked for it meanwhile, it may have heard that
        first."""
        if self.wants(uri):
            self._way.spawn(self._tell_again(uri))

    async def _tell_again(self, uri: str) -> None:
        self.told.discard(uri)
        self._outdate(uri)
        await self._tell_alone(uri)

    def _told(self, uri: str, when: int) -> None:
        if when == self._round and self.wants(uri):
            self.told.add(uri)

    def _outdate(self, uri: str) -> None:
        for one in self._asked.get(uri, ()):
            one.late = True

    # -- who goes, and connections that come ---------------------------------------------------------

    def follow(self, before: Subscriptions) -> None:
        """Want what was wanted on another connection."""
        for uri, holders in before.held.items():
            for holder, names in holders.items():
                self.hold(uri, holder, names)

    def forget(self, holder: str) -> None:
        """Somebody wants nothing any more."""
        every = [one.uri for one in self._asking.get(holder, ())]
        held = list(self._led.get(holder, {}).items())
        for uri in every:
            self._drop(uri, holder)
        for name, uri in held:
            self._release(uri, holder, name)
        both = dict.fromkeys((*every, *(uri for _, uri in held)))
        freed = [uri for uri in both if not self.wants(uri)]
        if freed:
            self._way.spawn(self._withdraw(freed))

    def drop_all(self) -> None:
        """The connection is over, with all that was wanted on it."""
        self.held.clear()
        self._led.clear()
        for asked in self._asked.values():
            for one in asked:
                one.dropped = True
        self._way.spawn(self.close())

    async def _withdraw(self, uris: list[str]) -> None:
        link = self._way.link
        if link is None or link.hello is None:
            return
        if link.hello.modern:
            await self._listening.tell(None)
            return
        for uri in uris:
            if not self.wants(uri):  # somebody may have asked for it since
                self.told.discard(uri)
                await self._way.said(link, _UNSUBSCRIBE, {"uri": uri})
                self._after(uri)

    async def close(self) -> None:
        """Listen no more. Returns when that has ended."""
        await self._listening.close()

    async def renew(self, link: Link) -> None:
        """Tell a new connection everything that is wanted. Returns once it is listened to; the rest goes on by itself: how long
        a server takes for it is nobody's concern but theirs who wait for word of resources."""
        self._round += 1
        self.told.clear()
        for uri in self._asked:
            self._outdate(uri)
        if link.hello is not None and link.hello.modern:
            self._serve(*map(self._way.party, self._led))
            await self._listening.renew()
        elif self.wanted():
            self._way.spawn(self._renewed(link, self._round))

    async def _renewed(self, link: Link, now: int) -> None:
        left = await self._tell_all(link, self.wanted(), now)
        if left:
            await asyncio.sleep(AGAIN_S)
            left = await self._tell_all(link, left, now)
        if left:
            log.warning(
                "server %s does not tell of %d of the resources that clients wait for: it refused them when it was connected anew",
                self._way.id,
                len(left),
            )

    async def _tell_all(self, link: Link, uris: list[str], now: int) -> list[str]:
        """Those of them that it does not take, as long as it is the present connection."""
        left = []
        for uri in uris:
            if now != self._round or not link.open:
                return []
            if not self.wants(uri) or uri in self.told:
                continue
            if await self._way.said(link, _SUBSCRIBE, {"uri": uri}):
                self._told(uri, now)
            else:
                left.append(uri)
        return left


def _remove(every: dict[str, list[_Ask]], key: str, ask: _Ask) -> None:
    every[key].remove(ask)
    if not every[key]:
        del every[key]


def _unknown(outcome: Outcome | None) -> bool:
    """Whether a server that was asked has said neither yes nor no: nobody waits for its answer any more."""
    if isinstance(outcome, Failure):
        return outcome.error is None and outcome.details.get("sent") is not False
    return outcome is None


def name_of(call: Call, uri: str) -> str:
    """What its holder calls a resource."""
    name = call.params.get("uri")
    return name if isinstance(name, str) else uri

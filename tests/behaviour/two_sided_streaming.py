"""What is said by MGP's extensions in the two-sided model: streams and their cancellation, events, callbacks, and who looks for tools.

`imp` is an honest server but for this: it sends events under ids that others gave out, and chunks of what is over.
"""

from __future__ import annotations

import json
from collections.abc import Coroutine
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from gatewright.mcp.protocol.negotiate import AUDIT_WANTED, EVENTS_WANTED, LIFECYCLE_WANTED
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import HOSTS, REGISTERED, SERVERS, Asked, visible
from tests.behaviour.two_sided_gathering import Gathering
from tests.behaviour.two_sided_mgp import CHANNELS, FINDING, OWN, Sent, fits, of_servers
from tests.behaviour.two_sided_servers import End, Work
from tests.behaviour.two_sided_speaking import any_work
from tests.behaviour.two_sided_steps import callers, inside, where, which

__all__ = [
    "Streaming",
    "called_back",
    "cancels",
    "finds",
    "responds",
    "sends",
    "streams",
    "subscribes",
    "takes_up",
    "tells",
    "unsubscribes",
]

MGP = [name for name, host in HOSTS.items() if host.mgp]
OURS = sorted(name for name, how in SERVERS.items() if "mgp" in how)
streaming = st.sampled_from(MGP)
speaking = st.sampled_from(OURS)


def asks(house: House, who: str, method: str, params: dict[str, Any]) -> Asked:
    """A client asks the gateway itself."""
    return house.clients[who].request(method, params, frozenset(), may=False)


def said(asked: Asked) -> Any:
    """What was answered; nothing where that was an error."""
    return json.loads(asked.heard or "{}")


def streams(house: House, who: str, server: str) -> Asked:
    """A client calls a tool, and asks for its result in chunks."""
    params = {"name": f"{server}__do", "arguments": {}, "_mgp": {"stream": True}}
    return house.clients[who].request("tools/call", params, frozenset({server}))


def tells(end: End, one: Work, kind: str = "chunk", done: bool = False) -> None:
    """A server sends a chunk of a call, or says how far it is."""
    number = end.streamed[one.ident] = end.streamed.get(one.ident, -1) + 1
    words = f"about {one.mark} by-{end.server.name}"
    params: dict[str, Any] = {"request_id": one.ident, "x": f"{words} piece-{number}"}
    if kind == "chunk":
        content = {"type": "text", "text": "word "}
        params |= {"index": 9 - number, "content": content, "done": done}
    else:
        params |= {"progress": 0.5, "message": words}
    end.say(one.ident, method=f"notifications/mgp.stream.{kind}", params=params)


def _named(client: Client, ident: Any) -> int | None:
    """The id under which a call of its own runs that a client names. One that was parked has none in a session: its request was
    answered with a question."""
    if client.sessionless:
        mark = client.mgp.handles.get(str(ident))
        ident = next((at for at, one in client.open.items() if one.mark == mark), None)
    one = client.open.get(ident) if isinstance(ident, int) else None
    if one is None or one.method not in ("tools/call", "prompts/get", "resources/read"):
        return None
    return None if client.parked(one) and not client.sessionless else ident


async def cancels(house: House, who: str, ident: Any) -> None:
    """A client cancels by an id, which is of a call of its own or of none."""
    client = house.clients[who]
    number = _named(client, ident)
    mine = [] if number is None else [client.open[number]]
    waits = [one for one in mine if not client.parked(one)]
    others = [
        one for name, each in house.clients.items() if name != who for one in each.open.values()
    ]
    for one in mine:
        one.gone = True
        client.mgp.over.add(number or 0)
    asked = asks(house, who, "mgp/stream/cancel", {"request_id": ident})
    await house.rest()
    if not asked.heard:
        return
    if said(asked).get("cancelled") and not mine:
        house.fault(f"{who} cancelled what is not its own", ident)
    house.must_stop(waits)
    if any(one in client.open.values() for one in waits):
        house.fault(f"{who} was not told that its call has ended", ident)
    if any(one not in house.clients[one.who].open.values() for one in others):
        house.fault(f"a call of another ended as {who} cancelled", ident)


async def subscribes(house: House, who: str, channels: list[str]) -> str:
    """A client wants to hear of channels: the id of its subscription."""
    for server in visible(who) & set(OURS):
        house.channels.add((server, of_servers(channels)))
    return str((await _subscribed(house, who, {"channels": channels})).get("subscription_id", ""))


async def _subscribed(house: House, who: str, wanted: dict[str, Any]) -> dict[str, Any]:
    """What is granted of events: by a method of its own, or to a request to listen."""
    client = house.clients[who]
    if not client.modern:
        asked = asks(house, who, "mgp/events/subscribe", wanted)
        await house.rest()
        return dict(said(asked))
    more = {AUDIT_WANTED: True, LIFECYCLE_WANTED: True} if client.count % 2 else {}
    asks(house, who, "subscriptions/listen", {"notifications": {EVENTS_WANTED: wanted, **more}})
    ident = client.ident
    await house.rest()
    return dict(client.acks.get(ident, {}).get(EVENTS_WANTED, {}))


async def takes_up(house: House, who: str, ident: str, since: int) -> None:
    """A client takes up a subscription, which is of another or its own."""
    owners = {each for each, known in house.subscribers if known == ident}
    granted = await _subscribed(house, who, {"subscription_id": ident, "since": since})
    mine = any(HOSTS[one].whose == HOSTS[who].whose for one in owners)
    if "subscription_id" not in granted:
        return
    if not mine:
        house.fault(f"{who} took up a subscription of another", ident)
    known = house.clients[who].mgp.subscriptions[ident]
    for client in house.clients.values():  # it is heard there alone
        if client.mgp.subscriptions.get(ident) is not known:
            client.mgp.subscriptions.pop(ident, None)


async def unsubscribes(house: House, who: str, ident: str) -> None:
    """A client ends a subscription, which is of another or its own."""
    client, host = house.clients[who], HOSTS[who]
    # One that a request to listen made is its caller's, wherever that asks.
    holders = [client] + [
        one for name, one in house.clients.items() if one.modern and HOSTS[name].whose == host.whose
    ]
    holder = next((one for one in holders if ident in one.subscriptions), None)
    own = None if holder is None else holder.mgp.subscriptions.pop(ident)
    asked = asks(house, who, "mgp/events/unsubscribe", {"subscription_id": ident})
    await house.rest()
    ended = said(asked).get("unsubscribed") is True
    if ended and own is None:
        house.fault(f"{who} ended a subscription of another", ident)
    elif own is not None and holder is not None and not ended:
        holder.mgp.subscriptions[ident] = own
        house.fault(f"{who} could not end its own subscription", ident)


async def sends(house: House, end: End, ident: Any, channel: str, **more: Any) -> None:
    """A server sends an event; whoever may not hear of it does not, and whoever has to does."""
    patterns = end.subscribed_to.get(str(ident), ())
    name = end.server.name
    right = any(fits(one, channel) for one in patterns) and house.shared(end)
    number = len(house.sent)
    house.sent.append(Sent(name, channel, right))
    words = {"x": f"by-{name} event-{number}"}
    exact = [who for who in house.who_hears(name, channel) if right and not more]
    exact = [
        who
        for who in exact
        if channel not in OWN and tuple(sorted(patterns)) in _wanted(house.clients[who])
    ]
    params = {"subscription_id": ident, "channel": channel, "data": words, **more}
    end.say(None, method="notifications/mgp.event", params=params)
    await house.rest()
    house.event_must_be_heard(number, exact)


def _wanted(client: Client) -> set[tuple[str, ...]]:
    return {of_servers(one.channels) for one in client.subscriptions.values()}


def called_back(end: End, one: Work) -> str:
    """A server asks about a call by a callback."""
    ident, put = end.numbered()
    end.called_back[ident] = one.mark, put
    message = f"about {one.mark} by-{end.server.name} put-{put}"
    params = {"callback_id": ident, "request_id": one.ident, "type": "input", "message": message}
    end.say(one.ident, method="notifications/mgp.callback.request", params=params)
    return ident


async def responds(house: House, who: str, ident: str, put: str) -> None:
    """A client responds to a callback, which was put to it or to another."""
    client = house.clients[who]
    mark, _ = client.mgp.callbacks.get(ident, ("", ""))
    waits = any(one.mark == mark for one in client.open.values())
    params = {"callback_id": ident, "response": f"answer-of-{who}/{put}"}
    open_ = [one for end in house.every_end() for one in end.called_back.values()]
    asked = asks(house, who, "mgp/callback/respond", params)
    await house.rest()
    taken = said(asked).get("accepted") is True
    if taken and not mark:
        house.fault(f"{who} answered a callback of another", ident)
    left = [one for end in house.every_end() for one in end.called_back.values()]
    if taken and waits and (mark, put) in open_ and (mark, put) in left:
        house.fault(f"the answer of {who} to a callback did not arrive", ident)


async def finds(house: House, who: str, method: str) -> None:
    """A client looks for tools, or lists servers: it hears of those that it may see."""
    params: dict[str, Any] = {"query": "do", "max_results": 50, "filter": {"status": "any"}}
    if method == "mgp/tools/request":
        params = {"requirements": {"capabilities": ["do", "by evil", "wait"]}}
    asked = asks(house, who, method, {} if method == "mgp/discovery/list" else params)
    await house.rest()
    found = said(asked)
    entries = [*found.get("servers", ()), *found.get("tools", ()), *found.get("loaded", ())]
    named = {one.get("server_id", one.get("id")) for one in entries if isinstance(one, dict)}
    if any(one in named and not house.there(one) for one in REGISTERED):
        house.fault(f"{who} found what is not registered any more", sorted(map(str, named)))
    if named - visible(who) - {"", None}:
        house.fault(f"{who} found what it may not see", sorted(map(str, named)))


class Streaming(Gathering):
    """See the module's text."""

    def _ours(self) -> list[tuple[End, Work]]:
        return [one for one in self.house.every_work() if "mgp" in SERVERS[one[0].server.name]]

    # -- streams

    @rule(who=streaming, server=speaking, number=which)
    @inside
    def a_client_asks_for_a_stream(
        self, who: str, server: str, number: int
    ) -> Coroutine[Any, Any, None]:
        seen = sorted(visible(who) & set(OURS))
        near = server if server in seen else seen[number % len(seen)] if number < 7 else server
        return self._streamed(who, near, number)

    async def _streamed(self, who: str, server: str, number: int) -> None:
        asked = streams(self.house, who, server)
        await self.house.rest()
        for end, one in self._ours():
            for _ in range(number % 3 if one.mark == asked.mark else 0):
                tells(end, one)

    @where(lambda house: any("mgp" in SERVERS[end.server.name] for end, _ in house.every_work()))
    @rule(number=any_work, kind=st.sampled_from(["chunk", "chunk", "progress"]), done=which)
    @inside
    def a_server_streams(self, number: int, kind: str, done: int) -> None:
        every = self._ours()
        if every:
            tells(*every[number % len(every)], kind, done=done == 0)

    @rule(number=any_work, ident=st.integers(1, 60))
    @inside
    def a_server_streams_what_is_over(self, number: int, ident: int) -> None:
        """Under the id of a call that it has answered, or never had: it is about nobody's."""
        ends = self.house.servers["imp"].ends
        if not ends:
            return
        end = ends[number % len(ends)]
        if ident not in end.work:
            content = {"type": "text", "text": "word "}
            params = {
                "request_id": ident,
                "index": number,
                "content": content,
                "x": "by-imp piece-9",
            }
            end.say(None, method="notifications/mgp.stream.chunk", params=params)

    @rule(who=streaming, other=callers, number=which, own=st.booleans())
    @inside
    def a_client_cancels_a_stream(
        self, who: str, other: str, number: int, own: bool
    ) -> Coroutine[Any, Any, None]:
        client, theirs = self.house.clients[who], self.house.clients[other]
        found = sorted(client.open if own and client.open else theirs.open)
        ident: Any = found[number % len(found)] if found else number
        handles = [one for each in self.house.clients.values() for one in each.mgp.handles]
        if client.sessionless and own:
            mark = client.open[ident].mark if ident in client.open else ""
            ident = next((name for name, at in client.mgp.handles.items() if at == mark), ident)
        elif number == 6 and handles:
            ident = handles[-1 - len(found) % len(handles)]
        elif number == 7:
            ident = next((mark for mark in self.house.asked if mark.startswith(other)), "x")
        return cancels(self.house, who, ident)

    # -- events

    @rule(who=streaming, channels=st.sets(st.sampled_from(CHANNELS), min_size=1, max_size=2))
    @inside
    def a_client_subscribes_to_events(
        self, who: str, channels: set[str]
    ) -> Coroutine[Any, Any, None]:
        return self._subscribes(who, sorted(channels))

    async def _subscribes(self, who: str, channels: list[str]) -> None:
        ident = await subscribes(self.house, who, channels)
        if ident:
            self.house.subscribers.append((who, ident))

    @where(lambda house: house.subscribers)
    @rule(who=streaming, number=any_work, own=st.booleans(), since=which)
    @inside
    def a_client_ends_or_takes_up_a_subscription(
        self, who: str, number: int, own: bool, since: int
    ) -> Coroutine[Any, Any, None]:
        every = self.house.subscribers
        name, ident = every[-1 - number % len(every)]
        who = name if own else who
        if since > 3:
            return takes_up(self.house, who, ident, since)
        return unsubscribes(self.house, who, ident)

    @rule(server=speaking, number=any_work, channel=st.sampled_from(["tool.flood", "security.scan", "system.x", "tool.started", "model.y"]))  # fmt: skip
    @inside
    def a_server_sends_an_event(
        self, server: str, number: int, channel: str
    ) -> Coroutine[Any, Any, None] | None:
        ends = [one for one in self.house.servers[server].ends if one.subscribed_to]
        if not ends:
            return None
        end = ends[number % len(ends)]
        ident = sorted(end.subscribed_to)[number % len(end.subscribed_to)]
        return sends(self.house, end, ident, channel)

    @rule(number=any_work, at=which, channel=st.sampled_from(["tool.flood", "tool.started", "security.access_denied"]))  # fmt: skip
    @inside
    def the_hostile_one_sends_an_event(
        self, number: int, at: int, channel: str
    ) -> Coroutine[Any, Any, None] | None:
        """Under an id of another server's, of a client's own, or in another's name."""
        ends = self.house.servers["imp"].ends
        if not ends:
            return None
        mine = [ident for _, ident in self.house.subscribers] or ["sub-0"]
        ident = f"s{number % 9}" if at % 2 else mine[number % len(mine)]
        more = (
            {"server_id": "odd", "sequence": 0, "severity": "error"} if at > 3 else {"sequence": 1}
        )
        return sends(self.house, ends[number % len(ends)], ident, channel, **more)

    # -- callbacks

    @where(lambda house: any("mgp" in SERVERS[end.server.name] for end, _ in house.every_work()))
    @rule(number=any_work)
    @inside
    def a_server_calls_back(self, number: int) -> None:
        every = [one for one in self._ours() if self._calls_back(*one)]
        if every:
            called_back(*every[number % len(every)])

    def _calls_back(self, end: End, one: Work) -> bool:
        """Of calls whose caller may be asked in mid-call, and is not yet."""
        asked = self.house.asked[one.mark]
        waits = one.mark in {mark for mark, _ in end.called_back.values()}
        waits = waits or "task" in asked.params or one.mark in self.house.waits
        return one.method == "tools/call" and not waits and not asked.gone and HOSTS[asked.who].mgp

    @where(lambda house: any(one.mgp.callbacks for one in house.clients.values()))
    @rule(who=streaming, other=streaming, number=any_work)
    @inside
    def a_client_responds(
        self, who: str, other: str, number: int
    ) -> Coroutine[Any, Any, None] | None:
        found = sorted(self.house.clients[other].mgp.callbacks.items())
        if not found:
            return None
        ident, (_, put) = found[-1 - number % len(found)]
        return responds(self.house, who if number % 3 else other, ident, put)

    # -- finding

    @rule(who=streaming, method=st.sampled_from(FINDING), number=which)
    @inside
    def a_client_looks_for_tools(
        self, who: str, method: str, number: int
    ) -> Coroutine[Any, Any, None] | None:
        return finds(self.house, who, method) if number < 3 else None

"""Judge of the two-sided model, the part about MGP: chunks, events, callbacks, and what servers are asked by them.

A chunk is of a call that waits and asked for a stream, and comes in its order; an event reaches who subscribed to its channel and may
see its server, under an id that this server gave out; a callback is put to whose call it is of, and answered by that one alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import SERVERS, Asked, about, answers, puts, visible
from tests.behaviour.two_sided_joined import Joined
from tests.behaviour.two_sided_mgp import OWN, Sent, events, fits, of_servers, pieces
from tests.behaviour.two_sided_servers import End

__all__ = ["Told"]


class Told(Joined):
    """See the module's text."""

    asked: dict[str, Asked]
    clients: dict[str, Client]

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Sent] = []
        """All events that servers sent, by their numbers."""
        self.heard_events: Counter[tuple[str, int]] = Counter()
        """How often a client heard of each."""
        self.subscribers: list[tuple[str, str]] = []
        """Every subscription that was granted: to which client, and its id."""
        self.crossed: set[str] = set()
        """Marks of calls that were given up in this step while their servers spoke: what they said may have been on its way."""
        self.channels: set[tuple[str, tuple[str, ...]]] = set()
        """Server and channels of each subscription that a client asked for."""

    def late(self, asked: Asked) -> bool:
        """Whether somebody may have given it up because its time is over."""
        raise NotImplementedError

    @property
    def told_by_mgp(self) -> Mapping[str, Callable[[Client, Any, set[str], Any], bool]]:
        """Whether a client may be told each of these."""
        return {
            "notifications/mgp.stream.chunk": self._chunk,
            "notifications/mgp.stream.progress": self._far,
            "notifications/mgp.event": self._event,
            "notifications/mgp.callback.request": self._callback,
        }

    @property
    def asked_by_mgp(self) -> Mapping[str, Callable[[End, Any], None]]:
        """What servers are asked by extensions."""
        return {
            "mgp/stream/cancel": self._stop,
            "mgp/events/subscribe": self._subscribe,
            "mgp/events/unsubscribe": self._unsubscribe,
            "mgp/callback/respond": self._respond,
        }

    # -- clients

    @staticmethod
    def _streams(client: Client, params: Any) -> Asked | None:
        """The call of its own that a message names, where it still waits for that."""
        ident = params.get("request_id")
        asked = client.open.get(ident) if isinstance(ident, int) else None
        return None if asked is None or ident in client.mgp.over else asked

    def _chunk(self, client: Client, params: Any, _: set[str], said: Any) -> bool:
        asked = self._streams(client, params)
        if asked is None or "_mgp" not in asked.params or about(json.dumps(said)) != {asked.mark}:
            return False
        heard = client.mgp.pieces.setdefault(params["request_id"], [])
        number = next(iter(pieces(json.dumps(said))), -1)
        if params.get("index") != len(heard) or (heard and number < heard[-1]):
            self.fault(f"{client.name} got a chunk out of its order", said)
        heard.append(number)
        return True

    def crossing(self, client: Client) -> list[Asked]:
        """The calls that a client gave up in this very step: what their servers said before they heard of it crosses that."""
        return [self.asked[mark] for mark in self.crossed if mark.startswith(f"{client.name}-")]

    def _far(self, client: Client, params: Any, _: set[str], said: Any) -> bool:
        asked, named = self._streams(client, params), about(json.dumps(said))
        if asked is None:
            return bool(named) and named <= {one.mark for one in self.crossing(client)}
        return named <= {asked.mark}

    def _event(self, client: Client, params: Any, wrote: set[str], said: Any) -> bool:
        mine = client.subscriptions.get(str(params.get("subscription_id")))
        channel, sequence = str(params.get("channel")), params.get("sequence", 0)
        if mine is None or not any(fits(one, channel) for one in mine.channels):
            return False
        if (
            "server_id" in params and channel in OWN
        ):  # another gateway may be behind: of whose call it is
            return False
        if sequence <= mine.sequence:
            self.fault(f"{client.name} heard of an event out of its order", said)
        mine.sequence = sequence
        if "server_id" not in params:  # the gateway's own
            data = params.get("data") or {}
            actor, server = data.get("actor") or {}, (data.get("target") or {}).get("server_id")
            if channel.startswith("system."):
                return server in visible(client.name) and not wrote
            return actor.get("id") == client.host.agent and not wrote
        server, found = params["server_id"], events(json.dumps(said))
        self.heard_events.update((client.name, one) for one in found)
        known = [self.sent[one] for one in found]
        right = known == [Sent(server, channel, valid=True)]
        return right and wrote <= {server} and server in visible(client.name)

    def _callback(self, client: Client, params: Any, wrote: set[str], said: Any) -> bool:
        asked, put = self._streams(client, params), puts(json.dumps(said))
        ident = str(params.get("callback_id"))
        if not client.host.mgp or asked is None or not wrote <= asked.servers or len(put) != 1:
            return False
        client.mgp.callbacks[ident] = asked.mark, next(iter(put))
        return ident.startswith("cb-")

    def event_must_be_heard(self, number: int, before: list[str]) -> None:
        """Whoever subscribed to the channel of an event, and sees its server, has heard of it."""
        for name in before:
            if not self.heard_events[name, number]:
                self.fault(f"{name} did not hear of an event", self.sent[number])

    def who_hears(self, server: str, channel: str) -> list[str]:
        """The clients that subscribed to a channel, and see the server."""
        return [
            name
            for name, one in self.clients.items()
            if server in visible(name)
            and any(
                fits(each, channel) for sub in one.subscriptions.values() for each in sub.channels
            )
        ]

    # -- servers

    def judge_stream(self, end: End, asked: Asked, params: Any) -> None:
        """A server is asked for a stream where its caller asked for one, and it speaks MGP."""
        self.judge_member(end, params)
        said = params.get("_mgp")
        if said is not None and (
            "_mgp" not in asked.params or "mgp" not in SERVERS[end.server.name]
        ):
            self.fault(f"{end.server.name} was asked for a stream that nobody wants", params)

    def _stop(self, end: End, said: Any) -> None:
        found = end.work.get(said["params"].get("request_id"))
        asked = None if found is None else self.asked.get(found.mark)
        if asked is not None and not asked.gone and not self.late(asked):
            self.fault(f"{end.server.name} was told to stop what its caller waits for", said)

    def _subscribe(self, end: End, said: Any) -> None:
        if (end.server.name, tuple(said["params"]["channels"])) not in self.channels:
            self.fault(f"{end.server.name} was asked for events that nobody wants", said)

    def _unsubscribe(self, end: End, said: Any) -> None:
        ident = str(said["params"].get("subscription_id"))
        channels = end.subscribed_to.get(ident)
        if channels is None:
            self.fault(f"{end.server.name} was told to end what it did not begin", said)
            return
        alike = list(end.subscribed_to.values()).count(channels) > 1
        for name, one in self.clients.items():
            wanted = {of_servers(sub.channels) for sub in one.subscriptions.values()}
            if channels in wanted and end.server.name in visible(name) and not alike:
                self.fault(f"{end.server.name} was told to end what {name} wants to hear", said)

    def _respond(self, end: End, said: Any) -> None:
        params = said["params"]
        mark, put = end.called_back.get(str(params.get("callback_id")), ("", ""))
        who = mark.partition("-")[0]
        if not mark or answers(json.dumps(params)) != {(who, put)}:
            self.fault(f"{end.server.name} got a response of somebody whom it did not ask", said)

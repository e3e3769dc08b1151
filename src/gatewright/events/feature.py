"""`EventsFeature`: MGP extension `bidirectional`: `mgp/events/…`, `mgp/callback/respond`, kernel hooks; resubscribes at new connections."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gatewright.events.callbacks import RESPOND, CallbackBook
from gatewright.events.methods import SUBSCRIBE, UNSUBSCRIBE, EventMethods
from gatewright.feature import Around, Feature, GatewayParts, Ground, Inside, Serving
from gatewright.kernel import Hooks
from gatewright.mcp.wire.timestamps import moment_text
from gatewright.servers.dispatch import Builtin
from gatewright.servers.supervisor import Supervisor

__all__ = ["EventsFeature"]


def _now() -> str:
    return moment_text(time.time())


class EventsFeature(Feature):
    """Who hears what happens, and who is asked in the middle of a call."""

    name = "events"
    extensions = ("bidirectional",)
    open_methods = (SUBSCRIBE, UNSUBSCRIBE, RESPOND)

    def __init__(self, ground: Ground) -> None:
        self._audit = ground.audit
        self._random = ground.random
        self._callbacks = CallbackBook(ground.audit, ground.random)
        self._events: EventMethods | None = None

    def around(self, servers: Supervisor) -> Around:
        """Callbacks of calls, subscriptions that begin with their answer, and calls that start."""
        events = self._events = EventMethods(servers, self._audit, self._random, _now)
        around = self._callbacks.around, events.around
        hooks = Hooks(around=around, sent=(events.sent,), stands=(events.stands,))
        return Around(hooks=hooks, stop=events.close)

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """The three methods of MGP §13."""
        events = {} if self._events is None else self._events.methods
        return {**events, RESPOND: self._callbacks.respond}

    def serve(self, parts: GatewayParts) -> Serving:
        """Servers that are connected, or connected anew, hear what is wanted of them."""
        events = self._events
        return Serving() if events is None else Serving(looks=(events.server_events.look,))

    async def close(self) -> None:
        """No call runs any more; the record is still open."""
        self._callbacks.close()

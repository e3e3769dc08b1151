"""`Transitions`: tells clients `notifications/mgp.lifecycle` (MGP §11.4) of each transition of a server that they may see, and of the gateway."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import UTC, datetime
from typing import Any, Protocol

from gatewright.call import KERNEL, Caller
from gatewright.servers.server_life import LIFECYCLE
from gatewright.servers.states import Change, State, way

__all__ = ["Hub", "Transitions", "timestamp"]


class Hub(Protocol):
    """Who tells listening clients (`ServerNotifications`)."""

    def tell(
        self,
        server: str,
        method: str,
        params: dict[str, Any],
        session: str | None = None,
        owner: Any = None,
        sees: Callable[[Caller, str], bool] | None = None,
    ) -> None:
        """Tell those who may see the server, or, with `sees`, those whom that names."""


class Transitions:
    """Tells transitions of the table alone, also where one connection took another's place: clients hear of one server, whose
    states follow each other as MGP §11.2 says. `clock` gives Unix seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._hub: Hub | None = None
        self._states: dict[str, State] = {}

    def by(self, hub: Hub) -> None:
        """From now on there is somebody to tell."""
        self._hub = hub

    def changed(self, change: Change) -> None:
        """A server is in another state."""
        before = self._states.get(change.server, change.before)
        if change.after == "connecting" and before != "registered":
            # A new connection in the place of one that clients have heard of: for them it is the same server.
            self._go(change.server, before, "restarting", change.cause)
        else:
            self._go(change.server, before, change.after, change.cause)

    def replaced(self, change: Change) -> None:
        """Another connection serves in the place of the former one."""
        before = self._states.get(change.server, change.before)
        # What was tried and came to the same is told as well: whoever waits for the attempt would wait for ever.
        if before != "connected" and (before, change.after) != ("error", "error"):
            self.changed(change)
            return
        self._go(change.server, before, "restarting", change.cause)
        if change.after != "connecting":
            self._go(change.server, "restarting", change.after, change.cause)

    def of_gateway(self, name: str, before: State, after: State, reason: str) -> None:
        """The gateway itself is in another state: everybody hears it."""
        self._tell(KERNEL, name, before, after, reason, lambda *_: True)

    def keep(self, servers: Collection[str]) -> None:
        """Forget those that are not configured any more."""
        self._states = {name: one for name, one in self._states.items() if name in servers}

    def _go(self, server: str, before: State, after: State, cause: str) -> None:
        steps = way(before, after)
        for step in steps:
            reason = cause if len(steps) == 1 or step.before == "connected" else step.cause
            self._tell(server, server, step.before, step.after, reason)
        self._states[server] = after

    def _tell(
        self,
        server: str,
        name: str,
        before: State,
        after: State,
        reason: str,
        sees: Callable[[Caller, str], bool] | None = None,
    ) -> None:
        if self._hub is None:
            return
        params = {
            "server_id": name,
            "previous_state": before,
            "new_state": after,
            # A word of the table: in what a server said last may be what only operators should read.
            "reason": reason,
            "timestamp": timestamp(self._clock()),
        }
        self._hub.tell(server, LIFECYCLE, params, sees=sees)


def timestamp(unix_s: float) -> str:
    """A moment as MGP writes it: UTC with milliseconds."""
    text = datetime.fromtimestamp(unix_s, UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")

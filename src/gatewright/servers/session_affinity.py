"""Chooses the connection for a call: shared, the session's own, or a pooled lease; opens them and remembers which session has which.

One connection serves everybody, as long as nobody can be mistaken for somebody else. A server that has once asked its caller
something may ask again, and on a shared pipe its question names no call. So from then on, with `share = "auto"`:

- Each new session whose client can be asked gets a connection of its own.
- A call without a session gets one (a *lease*) while it runs, but only while the shared connection is busy, or a call that was
  given up may still ask there: otherwise nobody else could be meant, and a server may remember what was said there. A lease on
  which a call was given up in turn goes to nobody else.
- A call that asks for a task, or takes one, gets no lease: its task has to be there when it is asked for.
- A session that the shared connection has served before stays on it, since the server may remember what was said there.
- A server that asks for roots as soon as it is connected gets no caller's on the shared connection: a session whose client has
  roots has a connection of its own.

`docs/decisions/0004-questions-on-shared-pipes.md` says what was weighed.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Call, Failure, Refusal
from gatewright.command_text import to_type
from gatewright.mcp.protocol.mcp_client import ASKABLE
from gatewright.mcp.protocol.tasks import wanted
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.spec import ServerSpec
from gatewright.standing import Rest, attribute

__all__ = ["LEASES", "SessionAffinity"]

LEASES = 16
"""How many calls without a session may have a connection of their own; more share the common one."""

_REMEMBERED = 100_000
_ROOTS = frozenset({"roots"})
"""Asked for outside calls, once for each connection: a lease, which one caller has after the other, must not keep them."""


Lane = tuple[Reconnector, str | None]
"""A connection, and the lease to give back after the call, if it is one."""

_OVER = Refusal("session_unknown", "the session has ended: nothing was run", {"sent": False})


class SessionAffinity:
    """`make(key, call)` makes and starts a connection that `key` alone uses: a session, or a lease. `end` closes it. `opened`
    says of a session whether it has not ended: a call may outlive its session, and nobody would end what was made for it
    then."""

    def __init__(
        self,
        spec: ServerSpec,
        main: Reconnector,
        make: Callable[[str, Call | None], Reconnector],
        end: Callable[[Reconnector], object],
        opened: Callable[[str], bool] = lambda _: True,
    ) -> None:
        self._server = spec.id
        self._share = spec.share
        self._main = main
        self._common: Lane = main, None
        self._make = make
        self._end = end
        self._opened = opened
        self._closed = False
        self._own: dict[str, Reconnector] = {}
        self._shared: set[str] = set()
        """The sessions that the common connection has served; they stay on it."""
        self._idle: list[str] = []
        self._leases = 0
        self._asks: frozenset[str] = frozenset()
        """What the server is known to ask for, as clients declare that they can be asked it."""

    def own(self, session: str | None) -> Reconnector | None:
        """The connection that a session alone uses, where it has one."""
        return None if session is None else self._own.get(session)

    def all(self) -> list[Reconnector]:
        """Every connection but the common one."""
        return list(self._own.values())

    def drop(self, session: str) -> Reconnector | None:
        """A session is over: its connection, to be closed."""
        self._shared.discard(session)
        return self._own.pop(session, None)

    def over(self, session: str | None) -> Refusal | None:
        """Why nothing is begun for a session: it has ended."""
        return None if session is None or self._opened(session) else _OVER

    def close(self) -> list[Reconnector]:
        """The server is stopped: all connections but the common one, to be closed. No other is made."""
        self._closed = True
        self._idle.clear()
        own, self._own = self._own, {}
        return list(own.values())

    def stays(self, call: Call) -> bool:
        """Whether all calls like this one keep the connection that they have now: those of a session, or of a client without one that
        is asked nothing, as long as the server asks for nothing else (`PipeLink.asking`)."""
        session = call.session
        if session is None:
            return self._share != "auto" or not self._alone(call)
        return self._share == "gateway" or session in self._shared or session in self._own

    @property
    def rests(self) -> tuple[Rest, ...]:
        """On what rests which connection a session has, once it has one."""
        return (attribute(self, "_closed"),)

    def take(self, call: Call) -> Lane | Failure | Refusal:
        """The connection for a call; or why there is none."""
        session = call.session
        if self._closed:
            shows = to_type("server show {}", self._server)
            said = f"server {self._server} was stopped or replaced while the call waited, and nothing was run; `{shows}` says how it is now"
            return Failure("upstream_unavailable", said, {"sent": False}, retry_after_ms=1000)
        if session is None:
            fits = self._share == "auto" and not _takes_task(call) and self._asks != _ROOTS
            return self._lease() if fits and self._alone(call) else self._common
        if session in self._shared or self._share == "gateway":
            return self._common
        found = self._own.get(session)
        if found is not None:
            return found, None
        return self._first(session, call)

    def _first(self, session: str, call: Call) -> Lane | Refusal:
        """The connection for the first call of a session."""
        if (over := self.over(session)) is not None:
            return over
        if self._share == "session" or self._alone(call):
            found = self._own[session] = self._make(session, call)
            return found, None
        # Beyond that a session may get a connection of its own later, and the server see it as two.
        if len(self._shared) < _REMEMBERED:
            self._shared.add(session)
        return self._common

    def give_back(self, lease: str) -> None:
        """The call that had the lease is over."""
        self._idle.append(lease)

    def _lease(self) -> Lane:
        link = self._main.link
        if link is None or not (link.busy or link.haunted):
            return self._common
        lease = next((one for one in reversed(self._idle) if not _is_haunted(self._own[one])), None)
        if lease is not None:
            self._idle.remove(lease)
        elif self._leases < LEASES:
            self._leases += 1
            lease = f"lease {self._leases}"
            self._own[lease] = self._make(lease, None)
        elif self._idle:
            # All idle ones are haunted by a call that was given up: the oldest is replaced, or all leases would end so.
            lease = self._idle.pop(0)
            self._end(self._own[lease])
            self._own[lease] = self._make(lease, None)
        else:
            return self._common
        return self._own[lease], lease

    def _alone(self, call: Call) -> bool:
        """Whether the call could be asked, by a server that asks."""
        link = self._main.link
        if link is not None and link.asks:
            # A server that has asked one thing in a call may ask anything.
            self._asks = frozenset(ASKABLE)
        elif link is not None and link.wants_roots:
            self._asks |= _ROOTS
        return any(name in call.client.capabilities for name in self._asks)


def _is_haunted(keeper: Reconnector) -> bool:
    """Whether somebody else may still be meant on a connection: whose call was given up there, and not answered since."""
    return keeper.link is not None and keeper.link.haunted


def _takes_task(call: Call) -> bool:
    """Whether its server may answer it with a task."""
    return call.kind == "tool" and wanted(call)

"""`CallSender`: sends a call when connection and lists are ready, within a deadline; resends once if unsent; `Route`: which connection."""

from __future__ import annotations

import asyncio
from typing import Any

from msgspec.structs import replace

from gatewright.call import Back, Call, Failure, Outcome
from gatewright.mcp.client.input_requests import begun
from gatewright.mcp.client.link import Link
from gatewright.servers.draining import leaving
from gatewright.servers.reconnector import Reconnector
from gatewright.servers.relisting import Relisting
from gatewright.servers.server_screen import Screen

__all__ = ["CallSender", "Route"]


class Route:
    """On which connection a call goes: on `only` that, where it is given, and else on `link`, which is known afterwards. `own`
    says whose alone it is. `leaving` says of a connection that it drains: it takes what is asked about its tasks, and nothing else."""

    __slots__ = ("leaving", "link", "only", "own")

    def __init__(self, only: Link | None = None, *, leaving: bool = False) -> None:
        self.only = only
        self.leaving = leaving
        self.link: Link | None = None
        self.own: str | None = None

    def leads(self, link: Link) -> bool:
        """Whether the call may go there, where it goes then."""
        self.link = link
        return self.only is None or link is self.only


_GONE = Failure(
    "not_found", "the connection is gone that knew of this: nothing was sent", {"sent": False}
)


class CallSender:
    """Of one server."""

    def __init__(self, relisting: Relisting, screen: Screen) -> None:
        self._relisting = relisting
        self._screen = screen
        self._loop = asyncio.get_running_loop()

    async def put(
        self,
        keeper: Reconnector,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
        route: Route | None = None,
    ) -> Outcome:
        """How the call ends. Never raises, except for the cancellation of its task."""
        now = self._loop.time()
        deadline = now + keeper.spec.call_s if call.deadline is None else call.deadline
        unsent: Failure | None = None
        relisting = self._relisting
        # Before the first wait: a connection that is made from here on is not the one by whose lists the gates judged.
        known = relisting.count
        while True:
            link = keeper.link if route is None or not route.leaving else leaving(keeper.drain)
            stale = relisting.unlisted or relisting.count != known
            # What is asked about a task was judged by no list.
            stale = (stale or keeper.late) and not (route is not None and route.leaving)
            if link is None or not link.open or stale:
                waits = min(keeper.spec.restart_wait_s, deadline - now)
                with keeper.waits(back):
                    ready = await self._ready(keeper, call, known, deadline, waits, unsent)
                    await keeper.told(ready)
                if isinstance(ready, Failure):
                    return _after(unsent, replace(ready, details={**ready.details, "sent": False}))
                link = ready
            if route is not None and not route.leads(link):
                return unsent or _GONE
            calls = keeper.calls
            calls.begin()
            try:
                outcome = await self._screen.request(link, method, params, call, back, deadline)
            finally:
                calls.end()
            if type(outcome) is not Failure:
                return outcome
            if outcome.reason == "upstream_timeout":
                return _with_limit(outcome, deadline - now)
            if unsent is not None or not _goes_again(outcome, call):
                return _after(unsent, outcome)
            # What a second connection did not take either is not tried on a third.
            unsent = outcome

    async def came(
        self, keeper: Reconnector, taken: Any, call: Call, back: Back, deadline: float
    ) -> Outcome:
        """How a call ends that was sent already (`straight_line`): it is not sent anew, whatever becomes of the connection."""
        try:
            outcome = await self._screen.request(taken, call.method, {}, call, back, deadline)
        finally:
            keeper.calls.end()
        if type(outcome) is Failure and outcome.reason == "upstream_timeout":
            return _with_limit(outcome, keeper.spec.call_s)
        return outcome

    async def _ready(
        self,
        keeper: Reconnector,
        call: Call,
        known: int,
        deadline: float,
        waits_s: float,
        unsent: Failure | None,
    ) -> Link | Failure:
        """The connection, once it is there and its lists are known, where the tool is still the one that was judged; else why
        the call does not go there. `unsent` is why it did not before."""
        link = keeper.link
        if link is None or not link.open:
            ready = await keeper.ready(waits_s, "approval" in call.facts)
            if isinstance(ready, Failure):
                held = ready.reason == "permission_deferred"  # a person can do something about it
                return ready if held or unsent is None else unsent
            link = ready
        return await self._relisting.objection(call, known, deadline - self._loop.time()) or link


def _goes_again(outcome: Failure, call: Call) -> bool:
    """Whether a call is sent on a connection that is there now: it was not sent, or was in a session that is gone and may be repeated."""
    return outcome.details.get("sent") is False or (
        outcome.reason == "restarting" and call.repeatable
    )


def _after(before: Failure | None, outcome: Outcome) -> Outcome:
    """What a call comes to that ended like this the time before."""
    return outcome if before is None or before.details.get("sent") is False else begun(outcome)


def _with_limit(failure: Failure, seconds: float) -> Failure:
    """A time limit that was reached, and which one it was."""
    details = {**failure.details, "timeout_ms": round(seconds * 1000)}
    return replace(failure, details=details)

"""`PendingInputs`: requests waiting for input (MCP 2026-07-28), with their events, by random handle until retried; limits, expiry.

Nothing here outlasts the process: a handle ends with its request, `PENDING_S` after its last question that nobody came back for, or
with its endpoint.
"""

from __future__ import annotations

import asyncio
from typing import Generic, Protocol, TypeVar

from gatewright.call import Caller, CannotAsk, Event, Who
from gatewright.mcp.server.server_context import ServerContext
from gatewright.mcp.wire import jsonrpc
from gatewright.secret_scanning.chunks import GAP, chars_of

__all__ = [
    "KEPT_BYTES",
    "PENDING_EACH",
    "PENDING_S",
    "KeptEvents",
    "PendingInputs",
    "bound_to",
]

PENDING_S = 600.0
"""How long a parked call waits for its answers."""

PENDING_EACH = 100
"""How many calls one caller may have parked."""

KEPT_BYTES = 16 * 1024 * 1024
"""How long the answers of one caller's calls may be together that ended while nobody waited for them; one alone may be longer."""

_OF_GAP = ("request_id", "index")
_EVENT_BYTES = 512
"""What an event that is kept takes at least, however short its params are."""


def bound_to(caller: Caller, door: str, profile: str) -> str:
    """Whose a `requestState` is: who asked, and at which endpoint. It is taken back there and nowhere else."""
    return "\n".join((caller.kind, caller.id, door, profile))


class KeptEvents:
    """The events of a request that waits for input, for whoever takes it up; what is beyond `most_bytes` is dropped, and how much text
    that is, is told."""

    def __init__(self, most_bytes: int) -> None:
        self._events: list[Event] = []
        self._left = most_bytes
        self._gap: Event | None = None
        """Says how much text is dropped: all from where there was no room for some, so that it is missing at one place."""

    def add(self, event: Event) -> None:
        """Keep one, where there is room."""
        chars = chars_of(event.method, event.params)
        if chars and self._gap is not None:
            self._drop(event, chars)
            return
        size = max(_EVENT_BYTES, len(jsonrpc.encode(event.params)))
        if size <= self._left:
            self._events.append(event)
            self._left -= size
        elif chars:
            self._drop(event, chars)

    def _drop(self, event: Event, chars: int) -> None:
        first = event if self._gap is None else self._gap
        known = {name: first.params[name] for name in _OF_GAP if name in first.params}
        before = 0 if self._gap is None else self._gap.params["chars"]
        self._gap = Event(GAP, {**known, "chars": before + chars})

    def refused(self) -> None:
        """Keep of it all how much text it was: nobody may make the call any more that said it."""
        said, gap = self._events, self._gap
        self._events, self._gap = [], None
        for one in said if gap is None else [*said, gap]:
            if chars := chars_of(one.method, one.params):
                self._drop(one, chars)

    def taken(self) -> list[Event]:
        """What there is to say to whoever takes it up."""
        return self._events if self._gap is None else [*self._events, self._gap]


class _Parkable(Protocol):
    def cancel(self) -> None: ...


T = TypeVar("T", bound=_Parkable)


class PendingInputs(Generic[T]):
    """The requests that wait for input at one endpoint, or on one connection."""

    def __init__(self, front: ServerContext) -> None:
        self._front = front
        self._waiting: dict[str, tuple[T, Who | None, asyncio.TimerHandle]] = {}
        self._owners: dict[Who | None, int] = {}
        self._kept: dict[Who | None, dict[str, int]] = {}
        """The bytes of answers that are kept, by owner and handle."""

    def admit(self, exchange: T, owner: Who | None) -> str:
        """A handle for an exchange of `owner`. Raises `CannotAsk` where that has too many."""
        # Each holds a call open in the kernel and at its server.
        if self._owners.get(owner, 0) >= PENDING_EACH:
            raise CannotAsk("too many calls of this caller wait for answers", -32000)
        handle = self._front.random(32).hex()
        self._waiting[handle] = exchange, owner, self._timer(handle)
        self._owners[owner] = self._owners.get(owner, 0) + 1
        return handle

    def extend(self, handle: str) -> None:
        """Let the time of a handle begin anew, because something new was asked."""
        found = self._waiting.get(handle)
        if found is not None:
            exchange, owner, timer = found
            timer.cancel()
            self._waiting[handle] = exchange, owner, self._timer(handle)

    def taken_up(self, handle: str | None) -> None:
        """Let a handle go on until `extend`: its request is there again, and what it asked is answered or asked anew."""
        found = self._waiting.get(handle or "")
        if found is not None:
            found[2].cancel()

    def _timer(self, handle: str) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(PENDING_S, self.release, handle)

    def release(self, handle: str) -> None:
        """Forget a handle; unknown ones are ignored."""
        found = self._waiting.pop(handle, None)
        if found is None:
            return
        _, owner, timer = found
        timer.cancel()
        kept = self._kept.get(owner, {})
        kept.pop(handle, None)
        if not kept:
            self._kept.pop(owner, None)
        self._owners[owner] -= 1
        if not self._owners[owner]:
            del self._owners[owner]

    def keep(self, handle: str | None, size: int) -> bool:
        """Whether an answer of so many bytes may wait for whoever takes a handle up. Counted until that is released."""
        found = self._waiting.get(handle or "")
        if found is None:
            return True  # nobody can come back for it
        kept = self._kept.setdefault(found[1], {})
        if kept and sum(kept.values()) + size > KEPT_BYTES:
            return False
        kept[handle or ""] = size
        return True

    def find(self, handle: str) -> T | None:
        """The exchange behind a handle that a sealed state named."""
        found = self._waiting.get(handle)
        return None if found is None else found[0]

    @property
    def handles(self) -> list[str]:
        """What is parked, oldest first."""
        return list(self._waiting)

    def due(self, handle: str) -> float:
        """When a handle ends, in the loop's own seconds. Raises `KeyError` for unknown ones."""
        return self._waiting[handle][2].when()

    def close(self) -> None:
        """Cancel what is parked: nobody can come back."""
        for handle, (exchange, _, _) in list(self._waiting.items()):
            exchange.cancel()
            self.release(handle)

    def __len__(self) -> int:
        return len(self._waiting)

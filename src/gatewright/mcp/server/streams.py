"""`Streams`: MGP §12 streaming of one kernel: tracks calls of clients that negotiated it as `OpenCall`s, and answers `mgp/stream/cancel`.

A call of a client that negotiated `streaming` is *open* from its first gate to its answer; what comes back meanwhile passes its
`OpenCall`.

Sessions name an open call by the id of the request that waits for its answer now: one that was parked goes on under another. Where there is
no session, such an id is nobody's in particular (two clients of one caller may choose the same), so there the call has a handle, which
its first notification tells (`HANDLE`). To a key of the same caller with other limits no such call exists (`shown_rights`): who cancels is given
what has come of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.mcp.protocol.ended_calls import given_up, marked, revoked
from gatewright.mcp.protocol.mcp_server import request_key
from gatewright.mcp.protocol.tasks import TASK
from gatewright.mcp.server.open_call import LARGE, OpenCall, Shared
from gatewright.mcp.server.plain_progress import PlainProgress, token_of
from gatewright.mcp.server.shown_rights import at_least, shown_in
from gatewright.mcp.wire import jsonrpc
from gatewright.standing import NOTHING, Standing
from gatewright.transport.slices import in_slices, whole

__all__ = ["CANCEL", "EXTENSION", "Streams", "streams_to"]

EXTENSION = "streaming"
CANCEL = "mgp/stream/cancel"

_KINDS = frozenset({"tool", "prompt", "resource"})

Further = Callable[[Call, Back], Coroutine[Any, Any, Outcome]]


class _Sent(Protocol):
    """Where a call goes that every gate has let pass."""

    async def __call__(self, call: Call, back: Back) -> Outcome: ...


def streams_to(call: Call) -> bool:
    """Whether its client negotiated `streaming`."""
    mgp = call.client.mgp
    return mgp is not None and EXTENSION in mgp.extensions


class Streams:
    """The open calls of one kernel, and what is kept of them."""

    def __init__(self, clock: Callable[[], float], random: Callable[[int], bytes]) -> None:
        """`clock` gives monotonic seconds, `random` so many random bytes."""
        self.shared = Shared(clock)
        self._random = random
        self._named: dict[tuple[object, ...], OpenCall] = {}
        """By their handles."""
        self._of: dict[str, dict[OpenCall, None]] = {}
        """By session."""
        self._by_call: dict[str, OpenCall] = {}
        self.cancelled = 0

    def __len__(self) -> int:
        return len(self._by_call)

    def around(self, call: Call, back: Back, further: Further) -> Coroutine[Any, Any, Outcome]:
        """How a call ends (`kernel.Around`)."""
        if call.kind not in _KINDS:
            return further(call, back)
        if streams_to(call):
            return self._open(call, back, further)
        if "_meta" in call.params and token_of(call) is not None:
            back = PlainProgress(back)
        return further(call, back)

    def stands(self, call: Call) -> Standing | None:
        """Calls of clients that negotiated no streams, and ask for no progress, pass as they are."""
        return None if streams_to(call) or "_meta" in call.params else NOTHING

    def sent(self, inner: _Sent) -> _Sent:
        """A dispatch whose calls have begun to stream when they are sent."""

        def sent(call: Call, back: Back) -> Awaitable[Outcome]:
            one = self._by_call.get(call.id)
            return inner(call if one is None else one.begin(call), back)

        return sent  # type: ignore[return-value]

    async def _open(self, call: Call, back: Back, further: Further) -> Outcome:
        handle = "" if call.session else self._random(16).hex()
        one = OpenCall(self.shared, call, back, handle)
        self._by_call[call.id] = one
        if call.facts.get(TASK, "taken") == "taken":
            # Else its request was answered with a task long ago, and `tasks/cancel` is how that ends.
            self._add(one, call, handle)
        refused = False
        try:
            outcome = await further(call, one)
            refused = revoked(outcome)
        except asyncio.CancelledError as stopped:
            task = one.task
            if not one.cancelled or task is None or task.uncancel() > 0:
                raise  # by others than its caller, or by those as well
            outcome = given_up(call, stopped) or marked(call, _CANCELLED)
        finally:
            self._remove(one, call, handle)
            del self._by_call[call.id]
            one.close(refused=refused)
        steps = one.ended(outcome)
        large = type(outcome) is Answer and len(outcome.raw) > LARGE
        return await in_slices(steps) if large else whole(steps)

    async def cancel(self, call: Call, back: Back) -> Outcome:
        """`mgp/stream/cancel`: end the call of this caller that `request_id` names, and say what came of it (MGP §12.7)."""
        if not streams_to(call):
            return Failure("method_not_found", f"Method not found: {CANCEL}")
        ident = call.params.get("request_id")
        if type(ident) not in (int, str):
            return Failure("invalid_params", "params.request_id must be the id of a request")
        one = self._open_as(call, ident)
        if one is None or one.cancelled or not at_least(shown_in(call), one.shown):
            return Answer(_NOT_ACTIVE)
        self.cancelled += 1
        return Answer(jsonrpc.encode({"cancelled": True, "partial_result": one.cancel()}))

    def _add(self, one: OpenCall, call: Call, handle: str) -> None:
        if call.session:
            self._of.setdefault(call.session, {})[one] = None
        else:
            self._named[_name(call, handle)] = one

    def _remove(self, one: OpenCall, call: Call, handle: str) -> None:
        if not call.session:
            self._named.pop(_name(call, handle), None)
            return
        mine = self._of.get(call.session, {})
        mine.pop(one, None)
        if not mine:
            self._of.pop(call.session, None)

    def _open_as(self, call: Call, ident: Any) -> OpenCall | None:
        """The call of this caller that an id names now."""
        if not call.session:
            return self._named.get(_name(call, str(ident)))
        key = jsonrpc.encode(ident)
        mine = self._of.get(call.session, ())
        return next((one for one in mine if request_key(one.waits_as) == key), None)


def _name(call: Call, handle: str) -> tuple[object, ...]:
    """What a caller without a session calls one of its open calls by; nobody else can say the same."""
    return call.caller.who, call.door, call.profile, handle


_CANCELLED = Failure("cancelled", "the caller cancelled the call")
_NOT_ACTIVE = b'{"cancelled":false,"reason":"not_active"}'

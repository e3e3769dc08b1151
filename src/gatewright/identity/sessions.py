"""Method `gatewright/session/list` (Groundhog): sessions with caller and rate state; all for operators, their own for others.

A session's id is a handle and no credential, but only its beginning is shown: it is enough to find a session in
the record by, and nobody has a use for the rest who does not have it already. An endpoint that keeps sessions of its
own beside the connections of hosts gives them to `more`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

import msgspec

from gatewright.call import Answer, Back, Call, Caller, Outcome, Refusal
from gatewright.identity.rights import described, rights_of
from gatewright.mcp.server.server_context import Standing
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.permissions import ggen_permission
from gatewright.transport.slices import in_slices

__all__ = ["METHOD", "Judged", "SessionList", "rate_state"]

METHOD = "gatewright/session/list"
_SHOWN = 12


class Judged(Protocol):
    """What the present configuration says of callers."""

    def limited(self, door: str, caller: Caller) -> Refusal | None:
        """Why the next call at a door would be over a limit, or None."""


def rate_state(over: Refusal | None) -> dict[str, Any]:
    """Whether the next call would be over a limit, by what would be said of it, and when it would not be."""
    return {
        "limited": over is not None,
        "retry_after_ms": None if over is None else over.retry_after_ms,
    }


class SessionList:
    """Answers the method. `standing` has the sessions, `judged` knows of callers."""

    def __init__(
        self,
        standing: Mapping[str, Standing],
        judged: Judged,
        *,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` gives Unix seconds, `monotonic` those in which sessions count."""
        self._standing = standing
        self._judged = judged
        self._clock = clock
        self._monotonic = monotonic

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Every session where an operator asks, else those of the caller; oldest first. Of callers without a name each knows its own alone."""
        found = await in_slices(self._found(call))
        return Answer(jsonrpc.encode({"sessions": found}))

    def _found(self, call: Call) -> Generator[None, None, list[msgspec.Raw]]:
        """They as JSON text, one a step: there may be ten thousand."""
        every, found = call.caller.kind == "operator", list[msgspec.Raw]()
        for ident, one in list(self._standing.items()):
            if every or (one.caller.who == call.caller.who and _may_know(call, ident)):
                found.append(msgspec.Raw(jsonrpc.encode(self._shown(ident, one))))
            yield
        return found

    def _shown(self, ident: str, one: Standing) -> dict[str, Any]:
        caller = one.caller
        over = self._judged.limited(one.door, caller)
        ends = None if one.idle_s is None else one.used + one.idle_s
        return {
            "session_id": ident[:_SHOWN],
            "door": one.door,
            "profile": one.profile,
            "key_id": caller.key_id,
            "user_context": described(caller),
            "permissions": [ggen_permission(held) for held in rights_of(caller.user).permissions],
            "created_at": self._moment(one.opened),
            "last_used_at": self._moment(one.used),
            "expires_at": None if ends is None else self._moment(ends),
            "rate_limit_state": rate_state(over),
        }

    def _moment(self, monotonic: float) -> str:
        # Sessions count in monotonic seconds, which a change of the clock does not move.
        found = datetime.fromtimestamp(self._clock() - self._monotonic() + monotonic, UTC)
        return found.isoformat(timespec="seconds").replace("+00:00", "Z")


def _may_know(call: Call, session: str) -> bool:
    return call.caller.kind != "anonymous" or call.session == session

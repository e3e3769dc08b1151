"""Gate `session`: refuses a call whose session is unknown or another caller's, or that its endpoint already found at fault (`Call.doubt`).

A foreign session is answered exactly like one that never was, so that guessing ids teaches nothing.
Where an endpoint knows better why a request is not its sender's (its `doubt`), that is the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gatewright.call import Back, Call, Refusal, Who
from gatewright.standing import NOTHING, Standing

__all__ = ["Session"]

_UNKNOWN = Refusal(
    "session_unknown", "there is no such session, or it has ended: start a new one with initialize"
)


class Session:
    """Gate `session`."""

    name = "session"

    def __init__(self, owner: Callable[[str], Who | None]) -> None:
        """`owner` gives who opened a session (`Caller.who`); None where there is no such session."""
        self._owner = owner

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        if call.doubt is not None:
            return call.doubt
        # The session id is no credential (MCP, Security Best Practices): it counts only together with who opened it.
        if call.session is None or self._owner(call.session) == call.caller.who:
            return call
        return _UNKNOWN

    def stands(self, call: Call) -> Standing | None:
        """A session is its caller's as long as it is somebody's, which is asked with every call."""
        if call.session is None:
            return NOTHING
        owner = self._owner(call.session)
        if owner != call.caller.who:
            return None
        return Standing(((partial(self._owner, call.session), owner),))

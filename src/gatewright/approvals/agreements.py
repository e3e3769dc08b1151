"""`Agreements`: in-memory cache of consents by caller, limits and tool definition; for a time, further calls of a tool need no question.

Whoever lets an agent search the web once does not want to be asked about each further search. Such a yes is for one caller with the
limits that it had and one tool as it was defined then, of the program or address that stood behind its server's id; a restart forgets it, and
so does another definition or origin. Anonymous callers are many under one name: their
yes is for their session, and where there is none for that one call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gatewright.call import Call, Tool, UserContext

__all__ = ["KEPT", "Agreements"]

KEPT = 10_000
"""So many; of more, the oldest goes first."""

_Key = tuple[str, str, tuple[UserContext, ...], str, str, str, str]


class Agreements:
    """`clock` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: dict[_Key, tuple[Mapping[str, Any], float]] = {}

    def add(self, call: Call, tool: Tool, origin: str = "") -> None:
        """Somebody agreed to a call of this tool, now. `origin` says what stands behind its server's id (`servers.origin`)."""
        key = _key(call, tool, origin)
        if key is None:
            return
        self._kept.pop(key, None)  # to the end: the first key is the oldest
        self._kept[key] = tool.definition, self._clock()
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def holds(self, call: Call, tool: Tool, lasts_s: float, origin: str = "") -> bool:
        """Whether that was done no longer ago than that, about the tool as it is now."""
        key = _key(call, tool, origin)
        found = None if key is None else self._kept.get(key)
        if found is None:
            return False
        definition, at = found
        return self._clock() - at < lasts_s and definition == tool.definition


def _key(call: Call, tool: Tool, origin: str) -> _Key | None:
    caller, session = call.caller, ""
    if caller.kind == "anonymous":
        if call.session is None:
            return None
        session = call.session
    # With the limits: what somebody agreed to for one key of a caller, another key of it was not given.
    at = tool.target
    return caller.kind, caller.id, caller.user, session, at.server, origin, at.name

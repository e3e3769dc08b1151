"""`Agreements`: in-memory cache of consents by caller, limits and tool definition; for a time, further calls of a tool need no question.

Whoever lets an agent search the web once does not want to be asked about each further search. Such a yes is for one caller with the
limits that it had and one tool as it was defined then, of the program or address that stood behind its server's id; a restart forgets it, and
so does another definition or origin. Anonymous callers are many under one name: their yes is for their session, and where there is none for
that one call. What operators agreed to rests on the approval in the queue, with the votes of all of them: it ends when that is undone, which
is asked once after each change of the keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gatewright.call import Call, Tool, UserContext

__all__ = ["KEPT", "Agreements"]

KEPT = 10_000
"""So many; of more, the oldest goes first."""


class _Yes(NamedTuple):
    """One agreement: to which definition, when, by which approval, and as of which state of the keys that is known to hold."""

    definition: Mapping[str, Any]
    at: float
    approval: str
    keys: int


_Key = tuple[str, str, tuple[UserContext, ...], str, str, str, str]


class Agreements:
    """Who agreed to what, and when."""

    def __init__(
        self,
        clock: Callable[[], float],
        undone: Callable[[str], bool] = lambda _: False,
        keys: Callable[[], int] = lambda: 0,
    ) -> None:
        """`clock` gives monotonic seconds; `undone` says whether an approval, by its id, rests on a key that was revoked since; `keys` gives
        another number whenever keys may have changed."""
        self._clock = clock
        self._undone = undone
        self._keys = keys
        self._kept: dict[_Key, _Yes] = {}

    def add(self, call: Call, tool: Tool, approval: str = "", origin: str = "") -> None:
        """Somebody agreed to a call of this tool, now: operators by an approval, or the caller's own user (empty). `origin` says what
        stands behind its server's id (`servers.origin`)."""
        key = _key(call, tool, origin)
        if key is None:
            return
        self._kept.pop(key, None)  # to the end: the first key is the oldest
        self._kept[key] = _Yes(tool.definition, self._clock(), approval, self._keys())
        if len(self._kept) > KEPT:
            del self._kept[next(iter(self._kept))]

    def holds(self, call: Call, tool: Tool, lasts_s: float, origin: str = "") -> bool:
        """Whether that was done no longer ago than that, about the tool as it is now."""
        key = _key(call, tool, origin)
        found = None if key is None else self._kept.get(key)
        if key is None or found is None:
            return False
        keys = self._keys()
        if found.approval and keys != found.keys:
            if self._undone(found.approval):
                del self._kept[key]
                return False
            self._kept[key] = found._replace(keys=keys)
        return self._clock() - found.at < lasts_s and found.definition == tool.definition


def _key(call: Call, tool: Tool, origin: str) -> _Key | None:
    caller, session = call.caller, ""
    if caller.kind == "anonymous":
        if call.session is None:
            return None
        session = call.session
    # With the limits: what somebody agreed to for one key of a caller, another key of it was not given.
    at = tool.target
    return caller.kind, caller.id, caller.user, session, at.server, origin, at.name

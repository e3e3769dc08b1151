"""Remembers for each caller which server named a resource in a result (`resource_link`), to route later reads of it.

A link is its server's own: reading it leads back to the server whose result it stood in. A link gives no right, it only says
whose a URI is, for the caller who was shown it. Theory: a plain URI stays plain as long as one server alone named it to that
caller; from the second on it belongs to none of them, and each one's is shown in its qualified form (`names.wrap_uri`), which
needs no memory. So nobody takes over what another one named, as long as that is remembered.

Callers without a name are one to whom nobody can tell what another was shown, so for them nothing is remembered.
Bounded: a URI that is too long is not remembered, and is shown in the qualified form. Of too many URIs of one caller those go
first that were shown or read the longest time ago, whichever server named them; of too many callers likewise.
"""

from __future__ import annotations

from collections import OrderedDict

from gatewright.call import Caller
from gatewright.servers.alike import alike

__all__ = ["CALLERS", "CHARS", "EACH", "LINK_CHARS", "Linked"]

EACH = 1000
"""So many URIs are remembered for one caller and profile, the latest shown or read."""
CHARS = 128 * 1024
"""So many characters they have together."""
CALLERS = 500
"""So many callers, by profile, the latest."""
LINK_CHARS = 2048
"""A longer URI is not remembered."""

_SERVERS = 8
"""So many claimants of one URI are told apart; it belongs to nobody long before."""

_Whose = tuple[str, str, str]


class _Mine:
    """What one caller was shown in one profile."""

    __slots__ = ("chars", "servers")

    def __init__(self) -> None:
        self.servers: OrderedDict[str, tuple[str, ...]] = OrderedDict()
        self.chars = 0

    def put(self, uri: str, servers: tuple[str, ...]) -> None:
        if uri not in self.servers:
            self.chars += len(uri)
        self.servers[uri] = servers
        self.servers.move_to_end(uri)
        while len(self.servers) > EACH or self.chars > CHARS:
            self.chars -= len(self.servers.popitem(last=False)[0])


class Linked:
    """One for all configurations of a gateway."""

    def __init__(self) -> None:
        self._callers: OrderedDict[_Whose, _Mine] = OrderedDict()

    def name(self, caller: Caller, profile: str, uri: str, server: str) -> bool:
        """A result of `server` named the URI to the caller. True where the plain URI leads there from now on."""
        if len(uri) > LINK_CHARS or caller.kind == "anonymous":
            return False
        uri, mine = alike(uri), self._of(caller, profile)
        if mine is None:
            mine = self._callers[_whose(caller, profile)] = _Mine()
            if len(self._callers) > CALLERS:
                self._callers.popitem(last=False)
        known = mine.servers.get(uri, ())
        if server not in known and len(known) < _SERVERS:
            known = (*known, server)
        mine.put(uri, known)
        return known == (server,)

    def servers(self, caller: Caller, profile: str, uri: str) -> tuple[str, ...]:
        """The servers whose results named the URI to the caller."""
        uri, mine = alike(uri), self._of(caller, profile)
        found = () if mine is None else mine.servers.get(uri, ())
        if mine is not None and found:
            mine.servers.move_to_end(uri)
        return found

    def _of(self, caller: Caller, profile: str) -> _Mine | None:
        whose = _whose(caller, profile)
        found = self._callers.get(whose)
        if found is not None:
            self._callers.move_to_end(whose)
        return found


def _whose(caller: Caller, profile: str) -> _Whose:
    return caller.kind, caller.id, profile

"""Remembers for each caller which server named a resource in a result (`resource_link`), to route later reads of it.

A link is its server's own: reading it leads back to the server whose result it stood in. A link gives no right, it only says
whose a URI is, for the caller who was shown it. Theory: a plain URI stays plain as long as one server alone named it to that
caller; from the second on it belongs to none of them, and each one's is shown in its qualified form (`names.wrap_uri`), which
needs no memory. Nothing is forgotten, so nobody takes over what another one named, however early or late it comes.

Callers without a name are one to whom nobody can tell what another was shown, so for them nothing is remembered.
Bounded: what there is no room for is shown in the qualified form, and is nobody's by its plain URI. No server has more than a
share of a caller's room, so none has all others shown so.
"""

from __future__ import annotations

from gatewright.call import Caller
from gatewright.servers.uri_normal_form import alike

__all__ = ["CALLERS", "CHARS", "EACH", "LINK_CHARS", "SHARE", "Linked"]

EACH = 2000
"""So many URIs are remembered for one caller and profile."""
CHARS = 128 * 1024
"""So many characters they have together."""
SHARE = 4
"""One server has this part of both."""
CALLERS = 500
"""So many callers, by profile."""
LINK_CHARS = 2048
"""A longer URI is not remembered."""

_SERVERS = 8
"""So many claimants of one URI are told apart; it belongs to nobody long before."""

_Whose = tuple[str, str, str]


class _Room:
    """How much is remembered of what, for one caller: of one server, or of all."""

    __slots__ = ("chars", "uris")

    def __init__(self) -> None:
        self.uris = self.chars = 0

    def fits(self, chars: int, share: int = 1) -> bool:
        return self.uris < EACH // share and self.chars + chars <= CHARS // share

    def add(self, chars: int) -> None:
        self.uris += 1
        self.chars += chars


class _Mine:
    """What one caller was shown in one profile."""

    __slots__ = ("all", "each", "servers")

    def __init__(self) -> None:
        self.servers: dict[str, tuple[str, ...]] = {}
        self.all = _Room()
        self.each: dict[str, _Room] = {}

    def put(self, uri: str, server: str) -> bool:
        """Remember that a server named a URI; whether it is its alone."""
        known = self.servers.get(uri, ())
        if server in known or len(known) >= _SERVERS:
            return known == (server,)
        own = self.each.setdefault(server, _Room())
        if not (self.all.fits(len(uri)) and own.fits(len(uri), SHARE)):
            return False
        for room in (self.all, own):
            room.add(len(uri))
        self.servers[uri] = (*known, server)
        return not known


class Linked:
    """One for all configurations of a gateway."""

    def __init__(self) -> None:
        self._callers: dict[_Whose, _Mine] = {}

    def name(self, caller: Caller, profile: str, uri: str, server: str) -> bool:
        """A result of `server` named the URI to the caller. True where the plain URI leads there from now on."""
        if len(uri) > LINK_CHARS or caller.kind == "anonymous":
            return False
        whose = _whose(caller, profile)
        mine = self._callers.get(whose)
        if mine is None:
            if len(self._callers) >= CALLERS:
                return False
            mine = self._callers[whose] = _Mine()
        return mine.put(alike(uri), server)

    def servers(self, caller: Caller, profile: str, uri: str) -> tuple[str, ...]:
        """The servers whose results named the URI to the caller."""
        mine = self._callers.get(_whose(caller, profile))
        return () if mine is None else mine.servers.get(alike(uri), ())


def _whose(caller: Caller, profile: str) -> _Whose:
    return caller.kind, caller.id, profile

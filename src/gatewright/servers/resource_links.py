"""Remembers per caller which servers named a resource (`resource_link`), to route its read; a plain URI that two named belongs to neither.

A link is its server's own: reading it leads back to the server whose result it stood in. A link gives no right, it only says
whose a URI is, for the caller who was shown it. Theory: a plain URI stays plain as long as one server alone named it to that
caller; from the second on it belongs to none of them, and each one's is shown in its qualified form (`names.wrap_uri`), which
needs no memory. So nobody takes over what another one named, however early or late it comes.

Callers without a name are one to whom nobody can tell what another was shown, so for them nothing is remembered.
Bounded: digests are kept, and a server that names more than there is room for displaces what it has named longest ago itself;
one with less than others displaces from whom has most. What somebody else named too stays nobody's until all of them have
forgotten it. Of all callers, the one who has not been shown or asked for any link for longest is forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b

from gatewright.call import Caller
from gatewright.servers.uri_normal_form import alike

__all__ = ["CALLERS", "EACH", "LINK_CHARS", "TOTAL", "Linked"]

EACH = 2000
"""So many URIs are remembered for one caller and profile, of all servers."""
TOTAL = 500_000
"""So many for all callers: about 100 MB."""
CALLERS = 10_000
"""So many callers, by profile."""
LINK_CHARS = 2048
"""A longer URI is not remembered."""

_SERVERS = 8
"""So many claimants of one URI are told apart; it belongs to nobody long before."""

_Whose = tuple[str, str, str]


class _Mine:
    """What one caller was shown in one profile, by the digests of URIs."""

    __slots__ = ("changed", "each", "servers", "size")

    def __init__(self) -> None:
        self.servers: dict[bytes, tuple[str, ...]] = {}
        """All that named it, those that have forgotten it included: as long as one has not, it is contested."""
        self.each: dict[str, OrderedDict[bytes, None]] = {}
        """What each server named, what it named longest ago first."""
        self.size = 0
        self.changed = 0
        """When a URI was last named anew, by the count of all such."""

    def put(self, uri: bytes, server: str) -> bool:
        """Remember that a server named a URI; whether it is its alone."""
        own = self.each.get(server)
        if own is not None and uri in own:
            own.move_to_end(uri)
            return self.servers[uri] == (server,)
        known = self.servers.get(uri, ())
        if server not in known:
            if len(known) >= _SERVERS:
                return False
            known = (*known, server)
        if self.size >= EACH:
            self._displace(server)
            own = self.each.get(server)
        if own is None:
            own = self.each[server] = OrderedDict()
        own[uri] = None
        self.size += 1
        # What was displaced may have been this very URI, named by another one.
        known = self.servers[uri] = known if uri in self.servers else (server,)
        return known == (server,)

    def _displace(self, server: str) -> None:
        """Make room for a server: from itself, unless another one has more."""
        most = max(self.each, key=lambda one: len(self.each[one]))
        own = self.each.get(server, ())
        if len(own) >= len(self.each[most]):
            most = server
        uri, _ = self.each[most].popitem(last=False)
        if not self.each[most]:
            del self.each[most]
        self.size -= 1
        if not any(uri in named for named in self.each.values()):
            del self.servers[uri]


class Linked:
    """One for all configurations of a gateway."""

    def __init__(self) -> None:
        self._callers: OrderedDict[_Whose, _Mine] = OrderedDict()
        self._size = 0
        self._count = 0

    def name(self, caller: Caller, profile: str, uri: str, server: str) -> bool:
        """A result of `server` named the URI to the caller. True where the plain URI leads there from now on."""
        if len(uri) > LINK_CHARS or caller.kind == "anonymous":
            return False
        mine = self._of(caller, profile)
        if mine is None:
            mine = self._callers[_whose(caller, profile)] = _Mine()
        before, digest = mine.size, _digest(uri)
        if digest not in mine.each.get(server, ()):
            self._count += 1
            mine.changed = self._count
        plain = mine.put(digest, server)
        self._size += mine.size - before
        while self._size > TOTAL or len(self._callers) > CALLERS:
            self._size -= self._callers.popitem(last=False)[1].size
        return plain

    def servers(self, caller: Caller, profile: str, uri: str) -> tuple[str, ...]:
        """The servers whose results named the URI to the caller."""
        mine = self._of(caller, profile)
        return () if mine is None else mine.servers.get(_digest(uri), ())

    def state(self, caller: Caller, profile: str) -> int:
        """A number that changes with every URI that is named to the caller anew; 0 as long as none was."""
        mine = self._callers.get(_whose(caller, profile))
        return 0 if mine is None else mine.changed

    def _of(self, caller: Caller, profile: str) -> _Mine | None:
        """What the caller was shown, which is used now."""
        whose = _whose(caller, profile)
        mine = self._callers.get(whose)
        if mine is not None:
            self._callers.move_to_end(whose)
        return mine


def _whose(caller: Caller, profile: str) -> _Whose:
    return caller.kind, caller.id, profile


def _digest(uri: str) -> bytes:
    return blake2b(alike(uri).encode("utf-8", "surrogatepass"), digest_size=16).digest()

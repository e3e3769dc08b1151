"""`ServerNotifications`: registers listening clients, rechecks their caller and access, tells them of lists, resources, tasks, audit events.

List changes are told by the catalogue's owner after the catalogue has them, so that who is told and
lists at once sees what it was told of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Caller, Refusal
from gatewright.listeners import Signal
from gatewright.mcp.wire.methods import EVENT
from gatewright.servers.task_owners import Owner, place_of

__all__ = [
    "ANNOUNCED",
    "AUDIT",
    "Clean",
    "Listener",
    "ServerNotifications",
    "Still",
    "Take",
    "as_said",
]

log = logging.getLogger("gatewright.servers")

ANNOUNCED: Mapping[str, str] = {
    "tools/list": "notifications/tools/list_changed",
    "prompts/list": "notifications/prompts/list_changed",
    "resources/list": "notifications/resources/list_changed",
    "resources/templates/list": "notifications/resources/list_changed",
}
"""List → how it is told that it changed."""

AUDIT = "notifications/mgp.audit"
UPDATED = "notifications/resources/updated"

Clean = Callable[[str, str, dict[str, Any]], dict[str, Any] | None]
"""Server id, method and params of one notification; returns its params as they may be told, None where it may not be told."""

Take = Callable[[str, str, dict[str, Any]], None]
"""Server id, method and params of one notification. Must not block, and must not change `params`."""

Still = Callable[[], Caller | Refusal]
"""Who somebody is now, or why nobody any more."""


def as_said(server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Nothing is taken out."""
    return params


class Listener(msgspec.Struct, eq=False):
    """Somebody who wants to hear things. `audit`: also what is recorded about them (MGP §6)."""

    caller: Caller
    """As whom they were shown what they know."""
    profile: str
    session: str | None
    take: Take
    audit: bool = False
    door: str = ""
    holder: str | None = None
    """For whom the resources are kept that they subscribed to; else the session."""
    still: Still | None = None
    """Who they are now; else the same as ever."""

    def now(self) -> Caller | None:
        """As whom they hear things from now on: with the rights that they have today. None where they are nobody any more."""
        found = self.caller if self.still is None else self.still()
        return found if isinstance(found, Caller) and found.who == self.caller.who else None


class ServerNotifications:
    """`may_see(caller, profile, server)` says whether a server exists for somebody; `may_read(caller, server, uri)` whether one
    of its resources does. `names(listener, server, uri)` are those by which a listener was granted word of it. `clean` takes
    out of what a server says what must not travel."""

    def __init__(
        self,
        may_see: Callable[[Caller, str, str], bool],
        may_read: Callable[[Caller, str, str], bool] = lambda *_: True,
        names: Callable[[Listener, str, str], Collection[str]] = lambda *_: (),
        clean: Clean = as_said,
    ) -> None:
        self._may_see = may_see
        self._may_read = may_read
        self._names = names
        self._clean = clean
        self._listeners: dict[int, Listener] = {}
        self._holders: dict[str, Listener] = {}
        self._count = 0
        self.auditing: Signal[bool] = Signal()
        """Whether anybody wants to know of what is recorded, whenever that changes."""
        self._auditors = 0
        self.happened: Signal[tuple[str, dict[str, Any]]] = Signal()
        """Told of the events of servers (MGP §13.3), cleaned: server id and params. Who hears them is not known here."""
        self.left: Signal[str | None] = Signal()
        """Told whose notifications nobody hears any more: a session, or a `subscriptions/listen`."""

    def heard_by(self, holder: str) -> Listener | None:
        """Who hears what a session, or a `subscriptions/listen`, is told; None where nobody does."""
        return self._holders.get(holder)

    def watch(self, listener: Listener) -> Callable[[], None]:
        """Tell `take` what servers say, until the result is called."""
        self._count += 1
        number = self._count
        self._listeners[number] = listener
        if listener.holder is not None:
            self._holders[listener.holder] = listener
        self._audited(+1 if listener.audit else 0)

        def end() -> None:
            if self._listeners.pop(number, None) is not None:
                self._audited(-1 if listener.audit else 0)
                if self._holders.get(listener.holder or "") is listener:
                    del self._holders[listener.holder or ""]
                    self.left.send(listener.holder)

        return end

    def _audited(self, more: int) -> None:
        before, self._auditors = bool(self._auditors), self._auditors + more
        if before != bool(self._auditors):
            self.auditing.send(not before)

    def tell_audit(
        self, event: dict[str, Any], may_hear: Callable[[Caller, str | None], bool]
    ) -> None:
        """Tell whoever wants to know of an event, and may; by caller and session."""
        for one in list(self._listeners.values()):
            now = one.now() if one.audit else None
            if now is not None and may_hear(now, one.session):
                _take(one, "", AUDIT, event)

    def audience(self) -> list[tuple[Caller, str]]:
        """Who listens, by caller and profile."""
        return list({(one.caller, one.profile): None for one in self._listeners.values()})

    def renewed(self) -> list[tuple[Caller, Caller, str]]:
        """The same, with as whom they were shown what they know, before as whom they are shown things from now on."""
        found: dict[tuple[Caller, Caller, str], None] = {}
        for one in self._listeners.values():
            now = one.now()
            if now is not None:
                found[one.caller, now, one.profile] = None
                one.caller = now
        return list(found)

    def tell_audience(self, caller: Caller, profile: str, methods: Sequence[str]) -> None:
        """Tell those who listen as this caller in this profile that something changed, whichever
        server it came from."""
        for one in list(self._listeners.values()) if methods else ():
            if (one.caller, one.profile) == (caller, profile):
                for method in methods:
                    _take(one, "", method, {})

    def tell(
        self,
        server: str,
        method: str,
        params: dict[str, Any],
        session: str | None = None,
        owner: Owner | None = None,
        sees: Callable[[Caller, str], bool] | None = None,
    ) -> None:
        """Pass one notification on. With `session`, to that session only, or to that party (`Call.party`): it came on a
        connection that nobody else shares. With `owner`, to that caller only (`task_owners.place_of`), and where `sees`
        says, in place of whether the server exists for it, that it may know of this in that profile."""
        if method == EVENT:
            # Events are asked for on the connection that all share: on a session's own one nobody was given an id.
            heard = session is None and self.happened.listeners
            found = self._clean(server, method, params) if heard else None
            if found is not None:
                self.happened.send((server, found))
            return
        # Once for all listeners: it takes time in proportion to the text.
        clean = self._clean(server, method, params) if params and self._listeners else params
        if clean is not None:
            self._told(server, method, clean, session, owner, sees)

    def _told(
        self,
        server: str,
        method: str,
        params: dict[str, Any],
        session: str | None,
        owner: Owner | None,
        sees: Callable[[Caller, str], bool] | None,
    ) -> None:
        # Many listeners are one caller in one profile: access is asked about once for them.
        seen: dict[tuple[Caller, str], bool] = {}
        for one in list(self._listeners.values()):
            now = self._hears(one, session, owner)
            if now is None:
                continue
            said = self._by_name(one, server, params) if method == UPDATED else [params]
            key = now, one.profile
            allowed = seen.get(key)
            if allowed is None:
                allowed = seen[key] = (
                    self._may_see(now, one.profile, server)
                    if sees is None
                    else sees(now, one.profile)
                )
            if not allowed or not self._readable(now, server, method, params):
                continue
            for each in said:
                _take(one, server, method, each)

    def _hears(self, one: Listener, session: str | None, owner: Owner | None) -> Caller | None:
        """As whom a listener hears what is for one session, party or owner of a task, where that is said; None where it does not."""
        # A party is a session with limits: another key that carries the session's stream hears nothing of it.
        if session is not None and one.session != session.partition(" ")[0]:
            return None
        if owner is not None and not _is(one, owner):
            return None
        now = one.now()
        if now is None or session in (None, one.session):
            return now
        return now if now.party(one.session or "") == session else None

    def _by_name(self, one: Listener, server: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        """A change of a resource as it is told to a listener: by every name under which it was granted word of that very one,
        whatever the name leads to now. By no other: that would be somebody else's resource."""
        uri = params.get("uri")
        names = self._names(one, server, uri) if isinstance(uri, str) else ()
        return [{**params, "uri": name} for name in sorted(names)]

    def _readable(self, now: Caller, server: str, method: str, params: dict[str, Any]) -> bool:
        """Whether somebody may still read what has changed."""
        return method != UPDATED or self._may_read(now, server, params["uri"])


def _is(listener: Listener, owner: Owner) -> bool:
    kind, id, place = owner
    who = listener.caller
    if who.who != (kind, id):
        return False
    return place_of(who, listener.door, listener.profile, listener.session) == place


def _take(listener: Listener, server: str, method: str, params: dict[str, Any]) -> None:
    try:
        listener.take(server, method, params)
    except Exception:
        log.exception("a listener failed to take %s of server %s", method, server)

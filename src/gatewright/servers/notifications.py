"""`ServerNotifications`: registers listening clients, rechecks their caller and access, tells them of lists, resources, tasks, audit events.

List changes are told by the catalogue's owner after the catalogue has them, so that who is told and
lists at once sees what it was told of.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Generator, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from gatewright.call import Caller, Who
from gatewright.listeners import Groups, Signal
from gatewright.mcp.wire.methods import EVENT
from gatewright.mcp.wire.shared_params import shared
from gatewright.servers.listener import OPERATORS, Listener
from gatewright.servers.server_life import LIFECYCLE
from gatewright.servers.task_owners import Owner
from gatewright.transport.line import Line
from gatewright.transport.slices import AT_ONCE

__all__ = [
    "ANNOUNCED",
    "AUDIT",
    "Clean",
    "ServerNotifications",
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

_CHANGES = frozenset(ANNOUNCED.values())

AUDIT = "notifications/mgp.audit"
UPDATED = "notifications/resources/updated"

_FRAME = 512
"""What it weighs to tell one listener of something, besides its text."""
_RECORD = "the record"
_Sees = Callable[[Caller, str], bool]

Clean = Callable[[str, str, dict[str, Any]], dict[str, Any] | None]
"""Server id, method and params of one notification; returns its params as they may be told, None where it may not be told."""


def as_said(server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    """Nothing is taken out."""
    return params


class _Change(NamedTuple):
    server: str
    method: str
    uri: str | None = None


class ServerNotifications:
    """`may_see(caller, profile, server)` says whether a server exists for somebody; `may_read(caller, server, uri)` whether one
    of its resources does. `names(listener, server, uri)` are those by which a listener was granted word of it, `holding(server, uri)`
    the holders of all such. `clean` takes out of what a server says what must not travel."""

    def __init__(
        self,
        may_see: Callable[[Caller, str, str], bool],
        may_read: Callable[[Caller, str, str], bool] = lambda *_: True,
        names: Callable[[Listener, str, str], Collection[str]] = lambda *_: (),
        clean: Clean = as_said,
        holding: Callable[[str, str], Collection[str]] = lambda *_: (),
    ) -> None:
        self._may_see = may_see
        self._may_read = may_read
        self._names = names
        self._clean = clean
        self._holding = holding
        self._listeners: dict[Listener, None] = {}
        self._holders: dict[str, Listener] = {}
        self._alike: Groups[tuple[Caller, str], Listener] = Groups()
        """By caller and profile."""
        self._by: Groups[Who | str, Listener] = Groups()
        """By whose they are, by session, and by holder."""
        self._auditing: Groups[Who | str, Listener] = Groups()
        """Those who want what is recorded: by whose they are, operators together, and those who have no name by session."""
        self._line = Line()
        self._records = Line()
        """What operators hear of records: nobody else's many sessions are in front of them there."""
        self._coming: set[_Change] = set()
        """Changes that nobody was told of yet: where the same is said again, it is said once."""
        self._left_out: Counter[str] = Counter()
        """How much nobody was told, of each server and of records."""
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
        self._listeners[listener] = None
        if listener.holder is not None:
            self._holders[listener.holder] = listener
        self._alike.add((listener.caller, listener.profile), listener)
        by: list[Who | str] = [listener.caller.who, listener.session or "", listener.holder or ""]
        places = [(self._by, key) for key in dict.fromkeys(by)]
        places += [(self._auditing, key) for key in listener.hears()]
        for group, key in places:
            group.add(key, listener)
        self._audited(+1 if listener.audit else 0)

        def end() -> None:
            if listener in self._listeners:
                del self._listeners[listener]
                self._alike.remove((listener.caller, listener.profile), listener)
                for group, key in places:
                    group.remove(key, listener)
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
        self,
        event: dict[str, Any],
        may_hear: Callable[[Caller, str | None], bool],
        callers: Collection[Who] | None = None,
        session: str | None = None,
        actor: Who | None = None,
    ) -> None:
        """Tell whoever wants to know of an event, and may; by caller and session. Besides operators it can be these callers alone,
        where they are said, and whoever has this session and no name. What waits is weighed by the `actor`: what one of them does
        keeps nobody from hearing of what others do."""
        keys: Iterable[Who | str] = self._auditing if callers is None else (*callers, session or "")
        operators = self._auditing.of(OPERATORS)
        every = dict.fromkeys(one for key in keys for one in self._auditing.of(key))
        told, size = shared(event)
        each = partial(self._audit, told, may_hear)
        # Whoever has no name may be anybody: each session of those is one by itself.
        nameless = session if actor is not None and actor[0] == "anonymous" else None
        whose = _RECORD, actor, nameless
        self._tell(list(operators), each, whose, size, line=self._records)
        self._tell([one for one in every if one not in operators], each, whose, size)

    def _audit(
        self,
        event: dict[str, Any],
        may_hear: Callable[[Caller, str | None], bool],
        some: Sequence[Listener],
    ) -> None:
        for one in some:
            now = one.now()
            if now is not None and may_hear(now, one.session):
                one.tell("", AUDIT, event)

    def audience(self) -> list[tuple[Caller, str]]:
        """Who listens, by caller and profile."""
        return list(self._alike)

    def renewed(self) -> Generator[None, None, list[tuple[Caller, Caller, str]]]:
        """The same, with as whom they were shown what they know, before as whom they are shown things from now on; step by step."""
        found: dict[tuple[Caller, Caller, str], None] = {}
        for one in tuple(self._listeners):
            now = one.now() if one in self._listeners else None
            if now is not None:
                found[one.caller, now, one.profile] = None
                self._alike.remove((one.caller, one.profile), one)
                one.caller = now
                self._alike.add((one.caller, one.profile), one)
            yield
        return list(found)

    def tell_audience(self, caller: Caller, profile: str, methods: Sequence[str]) -> None:
        """Tell those who listen as this caller in this profile that something changed, whichever
        server it came from."""
        if methods:
            some = list(self._alike.of((caller, profile)))
            self._tell(some, partial(self._change, tuple(methods)), kept=True)

    @staticmethod
    def _change(methods: Sequence[str], some: Sequence[Listener]) -> None:
        for one in some:
            for method in methods:
                one.tell("", method, {})

    # -- telling -------------------------------------------------------------------------------------

    def _tell(
        self,
        some: Sequence[Listener],
        each: Callable[[Sequence[Listener]], None],
        whose: tuple[Hashable, ...] = ("",),
        size: int = 0,
        change: _Change | None = None,
        *,
        kept: bool = False,
        line: Line | None = None,
    ) -> None:
        """Tell some, a few at a time, behind all that was said before. `whose` begins with a server. Of whose words too many wait, what is more is left out, unless
        it is `kept`; a `change` that nobody was told of yet is told once, to all who are there by then."""
        if not some:
            return
        line = line or self._line
        if not kept and not line.room(whose):
            self._warn(str(whose[0]))
            return
        if change is not None:
            self._coming.add(change)
        steps = self._told_in_steps(some, each, change)
        line.put(steps, len(some), whose, len(some) * (size + _FRAME))

    def _told_in_steps(
        self,
        some: Sequence[Listener],
        each: Callable[[Sequence[Listener]], None],
        change: _Change | None,
    ) -> Generator[None, None, None]:
        if change is not None:
            self._coming.discard(change)
            some = self._everybody(change.server, change.method, change.uri)
        for at in range(0, len(some), AT_ONCE):
            # What was asked about access holds for these: it may be another one in the next turn.
            each([one for one in some[at : at + AT_ONCE] if one in self._listeners])
            yield

    def _everybody(self, server: str, method: str, uri: object) -> list[Listener]:
        """All whom something of a server concerns that is said to nobody alone: of a resource those who were granted word of it."""
        if method != UPDATED:
            return list(self._listeners)
        holders = self._holding(server, uri) if isinstance(uri, str) else ()
        return list(dict.fromkeys(one for each in holders for one in self._by.of(each)))

    def _warn(self, name: str) -> None:
        """Told once, and again whenever it is ten times as much."""
        number = self._left_out[name] = self._left_out[name] + 1
        if str(number).rstrip("0") == "1":
            log.warning("%s: more is said than all who listen can be told, left out so far: %d", name, number)  # fmt: skip

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
        if clean is None:
            return
        everybody = session is None and owner is None and sees is None
        if everybody and method == UPDATED and "uri" in clean and not self._line.room((server,)):
            clean = {"uri": clean["uri"]}  # that it changed is told all the same
        change = _change(server, method, clean) if everybody else None
        if change is not None and change in self._coming:
            return
        # What is one caller's or one session's own needs no room among what the server says to all.
        own = session is not None or owner is not None
        whose: tuple[Hashable, ...] = (server, session, owner) if own else (server,)
        some = self._meant(session, owner) if own else self._everybody(server, method, clean.get("uri"))  # fmt: skip
        told, size = shared(clean)
        each = partial(self._told, server, method, told, sees, session)
        # Bounded without it: three for each server, one for each resource that somebody holds, and what the gateway itself says.
        kept = change is not None or method == LIFECYCLE
        self._tell(some, each, whose, size, change, kept=kept)

    def _meant(self, session: str | None, owner: Owner | None) -> list[Listener]:
        """Those whom it is for, where not for all: those of a session, those of a caller."""
        # A party is a session with limits: who of the session hears it is asked with each.
        of_session = session.partition(" ")[0] if session is not None else ""
        key: Who | str = owner[:2] if owner is not None and session is None else of_session
        return [one for one in self._by.of(key) if owner is None or one.owns(owner)]

    def _told(
        self,
        server: str,
        method: str,
        params: dict[str, Any],
        sees: _Sees | None,
        session: str | None,
        some: Sequence[Listener],
    ) -> None:
        # Many listeners are one caller in one profile: access is asked about once for them.
        seen: dict[tuple[Caller, str], bool] = {}
        for one in some:
            said = self._by_name(one, server, params) if method == UPDATED else [params]
            now = _hears(one, session) if said else None
            if now is None:
                continue
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
                one.tell(server, method, each)

    def _by_name(self, one: Listener, server: str, params: dict[str, Any]) -> list[dict[str, Any]]:
        """A change of a resource as it is told to a listener: by every name under which it was granted word of that very one,
        whatever the name leads to now. By no other: that would be somebody else's resource."""
        uri = params.get("uri")
        names = self._names(one, server, uri) if isinstance(uri, str) else ()
        return [{**params, "uri": name} for name in sorted(names)]

    def _readable(self, now: Caller, server: str, method: str, params: dict[str, Any]) -> bool:
        """Whether somebody may still read what has changed."""
        return method != UPDATED or self._may_read(now, server, params["uri"])


def _hears(one: Listener, session: str | None) -> Caller | None:
    """As whom a listener hears what is for its session, or for a party of that, where one is said; None where it does not."""
    now = one.now()
    if now is None or session in (None, one.session):
        return now
    # A party is a session with limits: another key that carries the session's stream hears nothing of it.
    return now if now.party(one.session or "") == session else None


def _change(server: str, method: str, params: Mapping[str, Any]) -> _Change | None:
    """What says only that something is another one, and is as good when it is said once; None for all else."""
    if not params and method in _CHANGES:
        return _Change(server, method)
    uri = params.get("uri")
    alone = method == UPDATED and params.keys() == {"uri"} and isinstance(uri, str)
    return _Change(server, method, uri) if alone else None

"""`UriOwners`: whose a URI or a template is for a caller; what a resource is called in results; which absent server a name waits for.

Theory: what a server has said of a URI outlives its absence (`last_heard`), and what it named to a caller outlives the caller's
right to see it (`resource_links`). Only where nobody has said anything of a URI is it guessed that it belongs to the one server that has
resources, and only where every server that the caller may see has said whether it has some: a guess leads to nobody because
another one is not there.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from functools import partial
from typing import Protocol

from gatewright.call import Caller, Target
from gatewright.servers.last_heard import LastHeard
from gatewright.servers.names import unwrap_uri, wrap_uri
from gatewright.servers.resource_links import Linked
from gatewright.servers.view import Item, View

__all__ = ["Sees", "UriOwners"]


class Sees(Protocol):
    """What callers may see (`catalogue.Sight`)."""

    @property
    def server(self) -> Callable[[Caller, str], bool]:
        """Whether a server exists for a caller."""


class UriOwners(abc.ABC):
    """What a catalogue (`Catalogue`) says of URIs."""

    linked: Linked
    """What results named to whom."""
    sight: Sees
    _last: LastHeard

    @abc.abstractmethod
    def view(self, profile: str) -> View:
        """The names of one profile."""

    @abc.abstractmethod
    def _outline(self, profile: str) -> View:
        """The servers of a profile, known without its names: whoever is told something of a server asks for it, and waits for nothing."""

    @abc.abstractmethod
    def _stays_down(self, server: str) -> bool:
        """Whether it is not to come by itself: an operator switched it off or stopped it, or it cannot be started as configured."""

    @abc.abstractmethod
    def _has_listed(self, server: str) -> bool:
        """Whether it lists something now: it is there, or was, and nothing else is configured since."""

    @abc.abstractmethod
    def _whose(self, server: str) -> str:
        """A server's id and what stands behind it now (`origin`), with a slash between, which no id has in it."""

    def resource(self, profile: str, uri: str, caller: Caller) -> Target | None:
        """The owner of a URI and its own URI there: the only server that claims it, where no other named it to the
        caller, else the only one whose results named it there, else the only one that has resources at all. Of the servers that the caller may see; None as long
        as that one is away."""
        return self._found(profile, uri, caller)[0]

    def away(self, profile: str, uri: str, caller: Caller) -> str | None:
        """The server that is not there and whose a URI is, or may turn out to be."""
        return self._found(profile, uri, caller)[1]

    def claimants(self, profile: str, uri: str, caller: Caller) -> tuple[list[Target], int]:
        """Whose a URI is, as lists, templates, and results that the caller was shown have it, as far as they can be asked for it in
        qualified form, also where they are away; and how many claims there are, those of former programs of theirs included."""
        claimed, servers = self._claimed(profile, uri, caller), self.view(profile).servers
        found, every = self._named(profile, uri, caller)
        found = [*claimed, *(one for one in found if one not in claimed)]
        more = [one for one in every if one not in claimed]
        return [one for one in found if one.server in servers], len(claimed) + len(more)

    def _found(self, profile: str, uri: str, caller: Caller) -> tuple[Target | None, str | None]:
        """The owner; where it is away, which one that is."""
        claimed = self._claimed(profile, uri, caller)
        wrapped = unwrap_uri(uri) is not None
        named, every = self._named(profile, uri, caller)
        if claimed and (wrapped or all(one in claimed for one in every)):
            return self._sole(profile, claimed, claimed, asked=wrapped)
        if (
            claimed
        ):  # somebody else named it to this caller while that one was not seen, or did not have it
            return None, None
        if every:
            return self._sole(profile, named, every)
        if wrapped:  # of somebody else, whom the caller may not see
            return None, None
        having = [one for one in self._known(profile, caller) if self._last.may_have(one)]
        away = [one for one in having if not self._has_listed(one)]
        if len(having) == 1 and not away:
            return Target(having[0], uri), None
        return None, away[0] if away and len(having) - len(away) < 2 else None

    def _known(self, profile: str, caller: Caller) -> list[str]:
        """The servers whose a URI may be that nobody has named, for all that a caller may know; those that stay down where they
        were heard."""
        view, heard = self.view(profile), self._last.shelves
        every = (*view.servers, *view.gone)
        having = [one for one in every if one in heard or not self._stays_down(one)]
        return [one for one in having if self.sight.server(caller, one)]

    def _sole(
        self, profile: str, found: list[Target], every: list[Target], *, asked: bool = False
    ) -> tuple[Target | None, str | None]:
        """`found` of `every` that claims it, where that is one. `asked`: for that server by its id, which waits for it."""
        if len(every) != 1 or found != every:
            return None, None
        server = found[0].server
        there = server in self.view(profile).servers
        if there and (asked or self._has_listed(server)):
            return found[0], None
        return None, server

    def _claimed(self, profile: str, uri: str, caller: Caller) -> list[Target]:
        owners = self.view(profile).owners(uri)
        return [one for one in owners if self.sight.server(caller, one.server)]

    def _named(self, profile: str, uri: str, caller: Caller) -> tuple[list[Target], list[Target]]:
        """Those whose results named a URI to a caller: who of them still can answer for it, and all. What somebody named who is seen
        no more, or in whose place another one is, nobody else takes over."""
        view, found, every = self._outline(profile), [], []
        for whose in self.linked.servers(caller, profile, uri):
            server = whose.partition("/")[0]
            target = Target(server, uri)
            every.append(target)
            known = server in view.servers or server in view.gone
            if known and whose == self._whose(server) and self.sight.server(caller, server):
                found.append(target)
        return found, every

    def shown_in(self, profile: str, caller: Caller, target: Target) -> str:
        """What a resource is called in a result of its server: as it stands there where that leads back to it, else in
        qualified form."""
        view, uri = self.view(profile), target.name
        # Of what this caller may see: that a hidden server has it, too, is not for its eyes. What another one named to it is nobody's.
        if self._claimed(profile, uri, caller) == [target] and not self._is_named(
            profile, target, caller
        ):
            return uri
        whose = self._whose(target.server)
        sees = partial(self.sight.server, caller)
        if view.shared(target, sees) or not self.linked.name(caller, profile, uri, whose):
            return wrap_uri(target)
        return uri

    def _reads(self, profile: str, caller: Caller, item: Item, number: tuple[int, int]) -> int:
        """The `number` of an item as a caller reads it (`view.readings`), of so many; of 0 where nothing was named to the caller."""
        n, count = number
        if count and item.resource is not None and self._is_named(profile, item.resource, caller):
            return n + count
        return n if item.stands(partial(self.sight.server, caller)) else ~n

    def _is_named(self, profile: str, target: Target, caller: Caller) -> bool:
        """Whether results of others have named its URI to a caller: then it is nobody's as it stands, and listed in qualified form."""
        return any(one != target for one in self._named(profile, target.name, caller)[1])

    def template(self, profile: str, text: str, caller: Caller) -> Target | None:
        """The owner of a template by its listed text, or of a plain URI."""
        for target in self.view(profile).templated(text):
            if self.sight.server(caller, target.server):
                return target
        return self.resource(profile, text, caller)

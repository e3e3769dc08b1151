"""`Catalogue` of all servers' listings: resolves names per profile, lists what a caller may see; caches views and lists, also across reloads.

Names are resolved and lists are made per profile, from immutable views that are rebuilt when
something changed. A list is JSON text made of the servers' own texts; it is made once for each set of
things somebody may see, and then only looked up.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import msgspec

from gatewright.call import KERNEL, Caller, Client, Mgp, Target, Tool
from gatewright.mcp.wire.groundhog import About
from gatewright.schemas.lookalikes import seen
from gatewright.servers.last_heard import LastHeard
from gatewright.servers.list_cache import ListCache
from gatewright.servers.list_steps import made_list, seen_items
from gatewright.servers.listing import EMPTY, Listing
from gatewright.servers.names import prefixes_of
from gatewright.servers.origin import origin_of
from gatewright.servers.profile_views import ATTEMPTS, ProfileViews
from gatewright.servers.reserved_names import KEPT_CHARS, Reserved
from gatewright.servers.resource_links import Linked
from gatewright.servers.server_catalogue import Built, ServerCatalogue, judged, shelf_of
from gatewright.servers.spec import ServerSpec
from gatewright.servers.tool_metadata import NO_WORDS, about_tool
from gatewright.servers.uri_owners import UriOwners
from gatewright.servers.view import Item, Profile, View, view_of
from gatewright.transport.slices import in_slices

__all__ = ["EVERYTHING", "Catalogue", "Sight"]

_SIGHTS_KEPT = 4096

_EMPTY_SHELF = ServerCatalogue()
_Shelves = Mapping[str, ServerCatalogue]
_NO_SHELVES: _Shelves = MappingProxyType({})
_READS_ALL = Client("", mgp=Mgp("", ("security",)))
_NOTHING = Profile(servers=("",))  # no server has an empty id
_Names = Mapping[str, Collection[str]]  # server → names of its tools
_NO_NAMES: _Names = MappingProxyType({})


class Sight(msgspec.Struct, frozen=True):
    """What callers may see: `server` for prompts, resources and changes, `tool` for tools; `version` changes with each change of that."""

    tool: Callable[[Caller, Tool], bool]
    server: Callable[[Caller, str], bool]
    version: Callable[[], Hashable]
    resource: Callable[[Caller, Target], bool] = lambda *_: True
    """Whether one resource may be seen of a server that may."""
    held: Callable[[Tool], str] = lambda _: ""
    """Why nobody sees a tool until an operator has looked at it; empty where it is not held back."""
    listed: Callable[[Caller, str, Tool], bool] = lambda *_: True
    """Whether the list of a profile has a tool that the caller may see; what it does not have can be called all the same."""
    unlisted: Callable[[Caller, Target], bool] = lambda *_: False
    """Whether a caller may have what a tool gave it that its server does not list now."""


EVERYTHING = Sight(lambda *_: True, lambda *_: True, lambda: 0, unlisted=lambda *_: True)


class Catalogue(ProfileViews, UriOwners):
    """See the module's text. `specs` are in the order of the configuration, which is the order of
    every list. The profile of the empty name is the default one."""

    def __init__(
        self,
        specs: Sequence[ServerSpec],
        profiles: Mapping[str, Profile] | None = None,
        sight: Sight = EVERYTHING,
        *,
        reserved: Reserved | None = None,
        before: Catalogue | None = None,
    ) -> None:
        """`reserved` has the names of all servers' tools, there or not; this one takes the place of the catalogue `before`."""
        super().__init__()
        self.version = 0 if before is None else before.version + 1
        self.sight: Sight = sight
        self.linked = Linked() if before is None else before.linked
        self._specs = {spec.id: spec for spec in specs if spec.enabled}
        self._away = {spec.id: spec for spec in specs if not spec.enabled}
        self.reserved: Reserved = reserved or (Reserved() if before is None else before.reserved)
        self._profiles: dict[str, Profile] = {"": Profile(), **(profiles or {})}
        self._listings: dict[str, Listing] = {}
        self._shelves: dict[str, ServerCatalogue] = {}
        self._whoses: dict[str, str] = {}
        self._last = LastHeard(None if before is None else before._last, self._every)
        self._ahead: tuple[ServerCatalogue, dict[str, View]] | None = None
        self._lists = ListCache()
        self._sights: OrderedDict[Hashable, frozenset[int] | None] = OrderedDict()

    def user_of(self, name: str, but: str) -> str:
        """The server other than `but` that has a tool of this name in some profile, or whose tools' names begin or look so, also
        while it is away; empty where there is none."""
        looks = seen(name)
        for server, spec in self._every.items():
            begins = tuple(map(seen, (f"{server}.", *prefixes_of(server, spec.prefix))))
            if server != but and (looks.startswith(begins) or self.reserved.has(server, name)):
                return server
        # What a server of this process calls a tool is its own to say; all others go by what they list.
        for server in (one.id for one in self._specs.values() if one.local and one.id != but):
            if any(map(name.__eq__, map(self.shelf(server).own_name, self.shelf(server).tools))):
                return server
        names = (name, *(f"{server}/{name}" for server in self._every))
        for tools in (self.view(profile).tools for profile in self._profiles):
            found = (tools[one].target.server for one in names if one in tools)
            if other := next((one for one in found if one != but), ""):
                return other
        return ""

    # -- what servers say ----------------------------------------------------------------------------

    def put(self, server: str, listing: Listing, made: Built | None = None) -> bool:
        """Take what a server offers now, with the shelf that was `made` of it. False where nothing changed."""
        known = self._listings.get(server)
        # What a shelf was made of was compared then: where it says the same, it is the same (`listing.settled`).
        compared = made is not None and made.listing is listing
        if known is listing or (not compared and known == listing):
            return False
        self._listings[server] = listing
        spec = self._specs[server]
        shelf = shelf_of(spec, listing, made, self._shelves.get(server))
        self._shelves[server] = shelf
        self._last.put(server, listing, shelf)
        self._reserve(server)
        ahead, self._ahead = self._ahead, None
        self.changed()
        if ahead is not None and ahead[0] is shelf:
            # `changed` forgot the views; these were made of this very offer, before it was shown.
            self._views = ahead[1]
        return True

    def _shown(self) -> list[tuple[str, str | None, bool]]:
        """What views depend on, besides what is on the shelves."""
        return [(spec.id, spec.prefix, spec.enabled) for spec in self._every.values()]

    @property
    def _every(self) -> dict[str, ServerSpec]:
        """All servers of the configuration, also those that are switched off."""
        return {**self._specs, **self._away}

    def _reserve(self, server: str) -> None:
        """Remember what its tools are called, unless it could not say so."""
        if "tools" not in self._listings[server].failures:
            self.reserved.put(server, self._shelves[server].named)

    def _entries(self) -> int:
        listed = sum(one.entries for one in self._shelves.values())
        return listed + self.reserved.count

    def _now(self, profile: str) -> Generator[None, None, View]:
        return self._view_of(profile, self._shelves)

    def _view_of(
        self,
        profile: str,
        shelves: _Shelves,
        coming: _Names = _NO_NAMES,
        heard: _Shelves | None = None,
    ) -> Generator[None, None, View]:
        shown = self._profiles.get(profile, _NOTHING)
        # As all of it is now: what is put on a shelf between two steps is in none of them.
        shelves, heard = dict(shelves), dict(self._last.shelves if heard is None else heard)
        wanted = (
            one for one in self._every if not shown.servers or one in (*shown.servers, KERNEL)
        )
        there = {one: shelves.get(one, _EMPTY_SHELF).by_name for one in wanted}
        absent = yield from self.reserved.absent(there, coming)
        return (yield from view_of(shown, self._specs, shelves, self._away, absent, heard))

    def renewed(
        self,
        specs: Sequence[ServerSpec],
        profiles: Mapping[str, Profile] | None,
        sight: Sight,
        fresh: Mapping[str, Listing],
        shelved: Mapping[str, Built] = {},
    ) -> Catalogue:
        """The catalogue of another configuration. What servers said stays said, but for those in
        `fresh`, which are others than before and say that. `shelved` are shelves that were made already."""
        made = Catalogue(specs, profiles, sight, before=self)
        for spec in made._specs.values():
            listing = fresh.get(spec.id, self.listing(spec.id))
            if listing is not EMPTY:
                made._listings[spec.id] = listing
                shelf = made._shelves[spec.id] = self._again(spec, listing, shelved.get(spec.id))
                if shelf is not self._shelves.get(spec.id):
                    made._last.put(spec.id, listing, shelf)
                made._reserve(spec.id)
        shown = self._shown(), self._profiles, self._shelves, self._last.shelves
        if shown == (made._shown(), made._profiles, made._shelves, made._last.shelves):
            # Nothing differs that views are made of; what somebody may see of them is asked anew.
            made._views, made._lists = dict(self._views), self._lists.copy()
        return made

    def _again(self, spec: ServerSpec, listing: Listing, made: Built | None) -> ServerCatalogue:
        """The same catalogue where a listing under other words says the same."""
        before, shelf = self._specs.get(spec.id), self._shelves.get(spec.id)
        if before is None or shelf is None or judged(before) != judged(spec):
            return shelf_of(spec, listing, made)
        same = self._listings.get(spec.id) is listing
        return shelf if same else shelf_of(spec, listing, made, shelf)

    def shelf(self, server: str) -> ServerCatalogue:
        """What of a server's offer is in the catalogue, and what is said about the rest."""
        return self._shelves.get(server, _EMPTY_SHELF)

    def present(self, target: Target) -> Tool | None:
        """A tool by its own name, as its server lists it now, whatever profile shows it."""
        return self.shelf(target.server).by_name.get(target.name)

    def named(self, server: str) -> Collection[str] | None:
        """What the tools of a server are called; None where it is not there, or could not say so."""
        listing = self.listing(server)
        known = listing is not EMPTY and "tools" not in listing.failures
        return self.shelf(server).named if known else None

    def listing(self, server: str) -> Listing:
        """What a server said last; empty where it never said anything."""
        return self._listings.get(server, EMPTY)

    def changed(self) -> None:
        """What was made of what is here is made anew."""
        self.version += 1
        self._ahead = None
        self._views.clear()
        self._lists.clear()
        self._sights.clear()

    # -- finding -------------------------------------------------------------------------------------

    @property
    def profiles(self) -> frozenset[str]:
        """All that there are."""
        return frozenset(self._profiles)

    def knows(self, profile: str) -> bool:
        """Whether there is such a profile."""
        return profile in self._profiles

    async def ahead(self, server: str, shelved: Built) -> None:
        """Make the views in use anew, in slices, with what a server is about to offer; `put` it right after this."""
        spec = self._specs.get(server)
        same = self._listings.get(server) is shelved.listing
        if same or spec is None or shelved.of(spec, shelved.listing) is None:
            return
        for _ in range(ATTEMPTS):
            version, shelves = self.version, {**self._shelves, server: shelved.shelf}
            coming = {} if "tools" in shelved.listing.failures else {server: shelved.shelf.named}
            heard = self._last.with_one(server, shelved.listing, shelved.shelf)
            views = {
                profile: await in_slices(self._view_of(profile, shelves, coming, heard))
                for profile in list(self._views)
            }
            if version == self.version:
                self._ahead = shelved.shelf, views
                return

    def shown_as(self, profile: str, target: Target, caller: Caller) -> str | None:
        """The exposed name of a server's tool, by its own or its exposed name; None where the caller may not see it."""
        known = self.view(profile).tools
        tool = known.get(f"{target.server}/{target.name}") or known.get(target.name)
        return tool.exposed if tool is not None and self.sight.tool(caller, tool) else None

    def prompt(self, profile: str, name: str, *, there: bool = True) -> Target | None:
        """A prompt by its exposed or canonical name; `there`: of a server that lists it now, else of one that did last."""
        return self.view(profile).prompt(name, there=there)

    def several(self, profile: str) -> bool:
        """Whether a URI alone does not say whose it is: a profile has more than one server."""
        return self.view(profile).several

    def servers(self, profile: str, caller: Caller) -> list[str]:
        """The servers of a profile that exist for a caller, in the order of the configuration."""
        return [one for one in self._outline(profile).servers if self.sight.server(caller, one)]

    def _outline(self, profile: str) -> View:
        if (view := self._views.get(profile)) is not None:
            return view
        shown = self._profiles.get(profile, _NOTHING)
        return View(shown, self._specs, _NO_SHELVES, self._away)

    def _stays_down(self, server: str) -> bool:
        spec = self._specs.get(server)
        return spec is None or bool(spec.problem)

    def _has_listed(self, server: str) -> bool:
        return server in self._shelves

    def _whose(self, server: str) -> str:
        found = self._whoses.get(server)
        if found is None:
            origin = origin_of(spec) if (spec := self._every.get(server)) else ""
            found = self._whoses[server] = f"{server}/{origin}"
        return found

    # -- lists ---------------------------------------------------------------------------------------

    async def list(self, method: str, profile: str, caller: Caller, client: Client) -> bytes:
        """The JSON text of one list as the caller may see it, made in slices. `method` is one of `LISTS`."""
        mgp = client.mgp is not None and "security" in client.mgp.extensions
        for _ in range(ATTEMPTS):
            now = self.version, self.sight.version()
            await self.warm((profile,))
            visible = await in_slices(self._visible(method, profile, caller, listed=True))
            if now != (self.version, self.sight.version()):
                continue
            key = method, profile, mgp, visible
            found = self._lists.get(key)
            if found is None:
                items = self.view(profile).items(method)
                found = await in_slices(made_list(method, items, visible, mgp))
            if now == (self.version, self.sight.version()):
                self._lists.put(key, found)
                return found
        # Rights and servers change all the time: what was offered at one moment, each of it as its reader may see it in its turn.
        items = (await in_slices(self._viewed(profile))).items(method)
        named = self._changes(method, profile, caller)
        judged = self._judged(profile, caller, items, named, listed=True)
        return await in_slices(made_list(method, items, await in_slices(judged), mgp))

    def seen(
        self, profile: str, caller: Caller, *, listed: bool = False
    ) -> Generator[None, None, Sequence[Item]]:
        """The tools that the caller may see, in their order, whether lists have them or not, one a step; `listed`: those that they have."""
        items = self.view(profile).items("tools/list")
        seen = yield from self._visible("tools/list", profile, caller, listed=listed)
        return [item for n, item in enumerate(items) if seen is None or n in seen]

    def is_missing(self, profile: str, caller: Caller, name: str) -> bool:
        """Whether a visible server has a tool that it calls so and nobody can see now: away, left out, or held back."""
        shown = self._profiles.get(profile, _NOTHING).servers
        offered = self.view(profile).offered
        for server in (one for one in self._every if not shown or one in shown):
            tool = offered.get(Target(server, name))
            absent = tool is None and len(name) <= KEPT_CHARS and self.reserved.has(server, name)
            away = absent or (tool is not None and self.sight.held(tool))
            if away and self.sight.server(caller, server):
                return True
        return False

    def about(self, tool: Tool) -> About:
        """What is said about a tool beside its definition."""
        server = tool.target.server
        words = self.shelf(server).words.get(tool.target.name, NO_WORDS)
        return about_tool(tool, words, self._specs.get(server), self.listing(server).hello)

    async def shown(self, method: str, profile: str, caller: Caller) -> bytes:
        """The same with all that any client may read in it, to compare catalogues by."""
        return await self.list(method, profile, caller, _READS_ALL)

    def _visible(
        self, method: str, profile: str, caller: Caller, *, listed: bool = False
    ) -> Generator[None, None, frozenset[int] | None]:
        """Which items the caller may see, by number, inverted (`~`) where it reads as `alone`, and higher by how many there are where it reads
        as `qualified`; None: all of them. `listed`: of those that lists have."""
        now = self.version, self.sight.version()
        named = self._changes(method, profile, caller)
        key = method, profile, caller, listed, named, now
        # By `in`: None is a value here, and means all items.
        if key in self._sights:
            return self._sights[key]
        items = (yield from self._viewed(profile)).items(method)
        found = yield from self._judged(profile, caller, items, named, listed=listed)
        if now == (self.version, self.sight.version()):
            _keep(self._sights, key, found, _SIGHTS_KEPT)
        return found

    def _changes(self, method: str, profile: str, caller: Caller) -> int:
        return self.linked.state(caller, profile) if method == "resources/list" else 0

    def _judged(
        self, profile: str, caller: Caller, items: Sequence[Item], named: int, *, listed: bool
    ) -> Generator[None, None, frozenset[int] | None]:
        def sees(item: Item) -> bool:
            shown = not listed or item.tool is None or self.sight.listed(caller, profile, item.tool)
            return shown and self._may_see(caller, item)

        reads = partial(self._reads, profile, caller)
        return seen_items(items, sees, reads, len(items) if named else 0)

    def _may_see(self, caller: Caller, item: Item) -> bool:
        if item.tool is not None:
            return self.sight.tool(caller, item.tool)
        if item.resource is not None and not self.sight.resource(caller, item.resource):
            return False
        return self.sight.server(caller, item.server)


def _keep(cache: OrderedDict[Hashable, Any], key: Hashable, value: Any, most: int) -> None:
    cache[key] = value
    if len(cache) > most:
        cache.popitem(last=False)

"""`DiscoveryFeature`: MGP §16 methods, meta tools (`mgp_tools_call` runs as its tool), index, sessions, `expose`, token costs; list search."""

from __future__ import annotations

import time
from collections.abc import Mapping

from msgspec.structs import replace

from gatewright.config import Settings
from gatewright.discovery.catalogue_index import CatalogueIndex
from gatewright.discovery.costs import Costs
from gatewright.discovery.lookup import exposes_less, exposing
from gatewright.discovery.meta_tools import Through, meta_tools
from gatewright.discovery.methods import MetaTools
from gatewright.discovery.search import Search
from gatewright.discovery.sessions import Sessions
from gatewright.feature import Around, Feature, GatewayParts, Ground, Inside, Rules, Serving
from gatewright.kernel import Hooks
from gatewright.servers.dispatch import Builtin
from gatewright.servers.names import META_METHODS, META_TOOLS, kernel_names, meta_tool
from gatewright.servers.own_tools import with_own_tools
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["DiscoveryFeature"]


class DiscoveryFeature(Feature):
    """Without it lists are whole, and nobody searches."""

    name = "discovery"
    extensions = ("tool_discovery",)
    open_methods = tuple(kernel_names(meta_tool(name))[1] for name in META_METHODS)
    own_tools = tuple(kernel_names(meta_tool(name))[0] for name in META_TOOLS)

    def __init__(self, ground: Ground) -> None:
        self._now = ground.now
        self._index = CatalogueIndex(ground.now, folder=ground.settings.storage.path)
        self._sessions = Sessions(time.monotonic)
        self._meta = MetaTools(ground.now, self._index, self._sessions)
        self.offers = (self._index,)

    def side(self, side: ServerSide) -> ServerSide:
        """The tools, and what hears of sessions that end and of tools that are listed otherwise."""

        def ended(session: str) -> None:
            side.ended(session)
            self._sessions.forget(session)

        return replace(with_own_tools(side, meta_tools(self._meta)), ended=ended)

    def around(self, servers: Supervisor) -> Around:
        """What is called through `mgp_tools_call` is called itself, and what was used is noted."""
        through = Through(self._now)
        ended, answered = self._sessions.ended, self._sessions.answered
        return Around(
            hooks=Hooks(
                meant=(through,),
                ended=(ended,),
                answered=((ended, answered),),
                stands=(through.stands,),
            )
        )

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Those of MGP §16, what tools cost, and search in `tools/list`."""
        servers = inside.servers
        search = Search(lambda: servers.catalogue, inside.rights.may_use, time.perf_counter)
        meta = dict.fromkeys(self.open_methods, self._meta)
        return {
            "tools/list": search,
            **meta,
            **Costs(self._now, self._index, self._meta.lookup).methods,
        }

    def rules(self, settings: Settings) -> Rules:
        """What lists have."""
        return Rules(listed=exposing(settings))

    def serve(self, parts: GatewayParts) -> Serving:
        """The index follows what servers list: from the start where lists show less than there is, else once somebody searches."""

        def look() -> None:
            if self._index.wanted or exposes_less(self._now.settings):
                self._index.look()

        return Serving(looks=(look,))

    async def close(self) -> None:
        """End what the index is about."""
        await self._index.close()

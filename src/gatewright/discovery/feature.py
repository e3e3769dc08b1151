"""`DiscoveryFeature`: registers `Search` as handler of `tools/list`, so that requests with search members are filtered and ranked."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gatewright.discovery.search import Search
from gatewright.feature import Feature, Inside
from gatewright.servers.dispatch import Builtin

__all__ = ["DiscoveryFeature"]


class DiscoveryFeature(Feature):
    """Without it lists are whole."""

    name = "discovery"

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Search."""
        servers = inside.servers
        search = Search(lambda: servers.catalogue, inside.rights.may_use, time.perf_counter)
        return {"tools/list": search}

"""ggen as a feature: its endpoint at `/rpc` and, by its body, at `/mcp`."""

from __future__ import annotations

from gatewright.dialects.ggen.endpoint import ROOT, Ggen
from gatewright.feature import Feature, RoomsContext, Serving

__all__ = ["GgenFeature"]


class GgenFeature(Feature):
    """The endpoint."""

    name = "ggen"

    def serve(self, house: RoomsContext) -> Serving:
        """Its routes."""
        routes = Ggen(house.front, house.inside.servers).routes
        return Serving(routes=routes, urls=lambda base: {"rpc": f"{base}{ROOT}"})

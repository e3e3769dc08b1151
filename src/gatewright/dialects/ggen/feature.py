"""`GgenFeature`: mounts ggen's endpoint: JSON-RPC at `/rpc`, and at `/mcp` for requests whose body carries `auth`."""

from __future__ import annotations

from gatewright.dialects.ggen.endpoint import ROOT, Ggen
from gatewright.feature import Feature, GatewayParts, Serving

__all__ = ["GgenFeature"]


class GgenFeature(Feature):
    """The endpoint."""

    name = "ggen"

    def serve(self, parts: GatewayParts) -> Serving:
        """Its routes."""
        routes = Ggen(parts.front, parts.inside.servers).routes
        return Serving(routes=routes, urls=lambda base: {"rpc": f"{base}{ROOT}"})

"""`RestFeature`: mounts the REST endpoint: tools at `/tools`, its OpenAPI document, and the page at `/docs`."""

from __future__ import annotations

from gatewright.dialects.rest.endpoint import Rest
from gatewright.feature import Feature, GatewayParts, Serving

__all__ = ["RestFeature"]


class RestFeature(Feature):
    """The endpoint."""

    name = "rest"

    def serve(self, parts: GatewayParts) -> Serving:
        """Its routes."""
        routes = Rest(parts.front, parts.inside.servers).routes
        return Serving(
            routes=routes, urls=lambda base: {"rest": f"{base}/tools", "docs": f"{base}/docs"}
        )

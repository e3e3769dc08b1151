"""Servers of one's own tools; see `server`."""

from gatewright.sdk.context import Context, Elicited
from gatewright.sdk.server.server import MGP_EXTENSIONS, Served, Server, serve

__all__ = ["MGP_EXTENSIONS", "Context", "Elicited", "Served", "Server", "serve"]

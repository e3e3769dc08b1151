"""MCP servers made with the SDK: `Server` over stdio, HTTP and WebSocket, with tools, resources, prompts and completions."""

from gatewright.sdk.context import Context, Elicited
from gatewright.sdk.server.server import MGP_EXTENSIONS, Served, Server, serve

__all__ = ["MGP_EXTENSIONS", "Context", "Elicited", "Served", "Server", "serve"]

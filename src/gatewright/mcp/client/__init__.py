"""MCP client: one connection to one tool server from handshake to close, over stdio, HTTP, HTTP+SSE, WebSocket or an HTTP API.

Both eras, sessions that are lost and made again, streams taken up where they broke off, questions of the server, time
limits: the same for the gateway's connections to its servers and for a client made with the SDK.
"""

__all__: list[str] = []

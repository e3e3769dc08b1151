"""MCP asked of servers: one connection to one server, from hello to goodbye, whatever it is reached by.

Both eras, sessions that are lost and made again, streams taken up where they broke off, questions of the server, time
limits: the same for the gateway's way upstream and for a client made with the SDK.
"""

__all__: list[str] = []

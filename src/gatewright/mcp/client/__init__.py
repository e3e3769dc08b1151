"""The client side of MCP: one connection to one server, from handshake to close, for the gateway and the SDK alike.

`connect` makes a `link`: an `http_link` or a `pipe_link`, to an `endpoint`. `outgoing` prepares what a server sees of a request,
`answers` reads what it replied, `accepted_methods` says what it may send, `server_requests` whose call a request of its own belongs
to, `notifications` whom a notification is for, `related_tasks` which task either names. `http_rules` knows what an HTTP answer
means, `retry` when a failed call is made again.
"""

__all__: list[str] = []

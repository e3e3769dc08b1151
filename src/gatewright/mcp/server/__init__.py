"""The server side of MCP: from one host's connection to the handler of its calls, for the gateway and the SDK alike.

`server_context` makes a call of a request and `served_request` leads it to the handler (a `server_context.Handler`; the gateway's is its kernel). On top
of them stand `streamable_http` (with `http_sessions`, `listening`, `event_limits`) and `duplex` for everything that is a pair of
pipes: `stdio`, `websocket`, `legacy_sse` (HTTP+SSE of 2024-11-05). `client_session` is one host and what it runs; a question to a
stateless host waits in `pending_input`. `guard` checks Host and Origin, `locality` tells local requests from proxied ones,
`endpoints` is the table of all endpoints and of what callers may send there.
"""

__all__: list[str] = []

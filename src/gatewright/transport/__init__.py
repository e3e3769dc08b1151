"""Transports (I/O only): stdio, child processes, HTTP, SSE, WebSocket, TCP, and the limits of their connections.

What a message means is the business of `protocol`; what may happen because of it, of the kernel. All transports
offer the same two shapes, `Pipe` and `Receiver` of `transport.base`, so that an endpoint or a client connection never
knows which one it holds. HTTP servers answer each message on its own response and therefore have a shape of
their own, in `transport.http_client`.
"""

__all__: list[str] = []

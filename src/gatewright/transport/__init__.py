"""I/O only: every file here moves whole messages from one place to another and understands none of them.

What a message means is the business of `protocol`; what may happen because of it, of the kernel. All transports
offer the same two shapes, `Pipe` and `Receiver` of `transport.base`, so that a door or an upstream link never
knows which one it holds. HTTP upstreams answer each message on its own response and therefore have a shape of
their own, in `transport.http_client`.
"""

__all__: list[str] = []

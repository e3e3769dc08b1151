"""MCP server: everything between one host's connection and the handler of its calls, for all transports and revisions.

Handshakes of all five revisions, sessions, streams that can be taken up again, questions to the host, cancelling: the
same for the gateway and for a server written with the SDK. Who handles the calls is a `context.Handler`; the gateway's is
its kernel.
"""

__all__: list[str] = []

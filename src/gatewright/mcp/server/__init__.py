"""MCP served: everything between one host's connection and whoever handles its calls.

Handshakes of all five revisions, sessions, streams that can be taken up again, questions to the host, cancelling: the
same for the gateway and for a server written with the SDK. Who handles the calls is a `front.Handler`; the gateway's is
its kernel.
"""

__all__: list[str] = []

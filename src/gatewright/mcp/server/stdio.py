"""MCP server on the process's stdin and stdout, for the process owner or a given credential; finishes running calls after end of input."""

from __future__ import annotations

import asyncio

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.duplex import Duplex
from gatewright.mcp.server.server_context import ServerContext
from gatewright.transport.base import Limits
from gatewright.transport.stdio import open_stdio

__all__ = ["serve_stdio"]

DRAIN_S = 30.0
"""How long calls that are running may go on after the host closed our input."""


async def serve_stdio(
    front: ServerContext, profile: str = "", credential: str | None = None
) -> str:
    """Serve the host at our standard input and output until it closes; the reason why it ended. `credential` is
    what whoever started the gateway says of that host; without one it is the process owner's."""
    caller = front.identify("stdio", credential)
    if isinstance(caller, Refusal):
        raise PermissionError(caller.message)
    host = _Lingering(front, caller, profile=profile, credential=credential)
    limits = Limits(frame_bytes=front.frame_bytes, queue_bytes=front.queue_bytes)
    pipe = await open_stdio(host, limits)
    host.attach(pipe)
    # The end of input is no end of output: a script may write its requests and wait.
    reason = await host.over
    await host.drained(DRAIN_S)
    host.finish(reason)
    pipe.close()
    await pipe.wait_closed()
    return reason


class _Lingering(Duplex):
    """A host whose requests are answered after it closed its side: `gatewright serve --stdio < file`."""

    def __init__(
        self, front: ServerContext, caller: Caller, *, profile: str, credential: str | None
    ) -> None:
        super().__init__(front, caller, door="stdio", credential=credential, profile=profile)
        self.over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def closed(self, reason: str) -> None:
        self.deaf()
        if not self.over.done():
            self.over.set_result(reason)

    def finish(self, reason: str) -> None:
        """Now nobody reads answers either."""
        super().closed(reason)

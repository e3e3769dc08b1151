"""`with_own_tools`: adds tools of the gateway itself to those that its local server offers beside the configured tool servers."""

from __future__ import annotations

from msgspec.structs import replace

from gatewright.call import KERNEL
from gatewright.servers.local import LocalServer, Tools
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["with_own_tools"]


def with_own_tools(side: ServerSide, tools: Tools) -> ServerSide:
    """With more tools of the gateway itself, beside those that it has there already."""
    own = {
        name: one
        for server in side.local
        if server.id == KERNEL
        for name, one in server.given.items()
    }
    others = [server for server in side.local if server.id != KERNEL]
    kernel = LocalServer(ServerSpec(id=KERNEL, local=True), {**own, **tools})
    return replace(side, local=[*others, kernel])

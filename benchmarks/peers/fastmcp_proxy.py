"""FastMCP's proxy as its documentation creates it, in front of a stdio command or an HTTP server.

    .peers/fastmcp/bin/python benchmarks/peers/fastmcp_proxy.py PORT URL
    .peers/fastmcp/bin/python benchmarks/peers/fastmcp_proxy.py PORT COMMAND [ARGUMENT ...]

A PORT of `stdio` makes it speak stdio to its own client too.
"""

from __future__ import annotations

import sys

from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from fastmcp.server import create_proxy  # type: ignore[import-not-found]

__all__ = ["main"]


def main(where: str, target: list[str]) -> None:
    """Serve until ended from outside."""
    first, *rest = target
    backend = first if first.startswith("http") else StdioTransport(command=first, args=rest)
    proxy = create_proxy(backend, name="Proxy")
    if where == "stdio":
        proxy.run(show_banner=False)
    else:
        proxy.run(transport="http", host="127.0.0.1", port=int(where), show_banner=False)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])

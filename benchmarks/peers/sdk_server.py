"""The official Python SDK's server with one echo tool, over Streamable HTTP or stdio, as its documentation
starts it: no option but the port. It answers alone; no gateway stands before it.

    .peers/sdk2/bin/python benchmarks/peers/sdk_server.py PORT
    .peers/sdk2/bin/python benchmarks/peers/sdk_server.py stdio
"""

from __future__ import annotations

import sys

from mcp.server import MCPServer  # type: ignore[import-not-found]

__all__ = ["echo", "main"]


def echo(text: str) -> str:
    """Give the text back."""
    return text


def main(where: str) -> None:
    """Serve until ended from outside."""
    server = MCPServer("Echo")
    server.tool()(echo)
    if where == "stdio":
        server.run(transport="stdio")
    else:
        server.run(transport="streamable-http", port=int(where))


if __name__ == "__main__":
    main(sys.argv[1])

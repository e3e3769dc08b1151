"""The official Python SDK's server with one echo tool, over Streamable HTTP, as its documentation
starts it: no option but the port. It answers alone; no gateway stands before it.

    .peers/sdk2/bin/python benchmarks/peers/sdk_server.py PORT
"""

from __future__ import annotations

import sys

from mcp.server import MCPServer  # type: ignore[import-not-found]

__all__ = ["echo", "main"]


def echo(text: str) -> str:
    """Give the text back."""
    return text


def main(port: int) -> None:
    """Serve until ended from outside."""
    server = MCPServer("Echo")
    server.tool()(echo)
    server.run(transport="streamable-http", port=port)


if __name__ == "__main__":
    main(int(sys.argv[1]))

"""A server written with our SDK: one echo tool, over stdio or Streamable HTTP, as its documentation starts it.

python benchmarks/servers/own_sdk.py stdio
python benchmarks/servers/own_sdk.py PORT
"""

from __future__ import annotations

import sys

from gatewright.sdk import Server

__all__ = ["echo", "main"]

server = Server("Echo")


@server.tool
def echo(text: str) -> str:
    """Give the text back."""
    return text


def main(where: str) -> None:
    """Serve until ended from outside."""
    if where == "stdio":
        server.run()
    else:
        server.run_http(port=int(where))


if __name__ == "__main__":
    main(sys.argv[1])

"""How each peer, each upstream and the gateway are started: one command line a function."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from benchmarks.processes import ROOT, Process, free_port, peer_python, started

__all__ = [
    "echo_http",
    "echo_stdio",
    "fastmcp_proxy",
    "fastmcp_proxy_stdio",
    "gatewright",
    "mcp_proxy",
    "own_sdk",
    "own_sdk_stdio",
    "raw_responder",
    "sdk_server",
    "sdk_server_stdio",
]

HERE = Path(__file__).resolve().parent

Running = AbstractContextManager[Process]


def echo_stdio(*options: str) -> list[str]:
    """The command of the stdio echo server. It is a file, so it may be started from anywhere."""
    return [sys.executable, str(HERE / "servers" / "echo_stdio.py"), *options]


def echo_http(folder: Path, *options: str, name: str = "echo_http") -> Running:
    """The HTTP echo server."""
    command = [sys.executable, "-m", "benchmarks.servers.echo_http", *options]
    return started(name, command, folder)


def raw_responder(folder: Path) -> Running:
    """The smallest HTTP responder."""
    return started("raw", [sys.executable, "-m", "benchmarks.servers.raw"], folder)


def sdk_server(folder: Path) -> Running:
    """The official SDK's server, alone."""
    port = free_port()
    command = [str(peer_python("sdk2")), str(HERE / "peers" / "sdk_server.py"), str(port)]
    return started("sdk", command, folder, port=port)


def sdk_server_stdio() -> list[str]:
    """The command of the official SDK's server over stdio."""
    return [str(peer_python("sdk2")), str(HERE / "peers" / "sdk_server.py"), "stdio"]


def own_sdk(folder: Path) -> Running:
    """A server written with our SDK, alone."""
    port = free_port()
    command = [sys.executable, str(HERE / "servers" / "own_sdk.py"), str(port)]
    return started("own_sdk", command, folder, port=port)


def own_sdk_stdio() -> list[str]:
    """The command of a server written with our SDK over stdio."""
    return [sys.executable, str(HERE / "servers" / "own_sdk.py"), "stdio"]


def fastmcp_proxy(folder: Path, target: Sequence[str]) -> Running:
    """FastMCP's proxy over HTTP, before a URL or a command."""
    port = free_port()
    script = str(HERE / "peers" / "fastmcp_proxy.py")
    command = [str(peer_python("fastmcp")), script, str(port), *target]
    return started("fastmcp", command, folder, port=port)


def fastmcp_proxy_stdio(target: Sequence[str]) -> list[str]:
    """The command of FastMCP's proxy over stdio."""
    script = HERE / "peers" / "fastmcp_proxy.py"
    return [str(peer_python("fastmcp")), str(script), "stdio", *target]


def mcp_proxy(folder: Path, target: Sequence[str]) -> Running:
    """mcp-proxy before a command, over HTTP."""
    port = free_port()
    program = peer_python("mcp-proxy").with_name("mcp-proxy")
    command = [str(program), "--port", str(port), "--", *target]
    return started("mcp_proxy", command, folder, port=port)


def gatewright(*arguments: str) -> list[str]:
    """The gateway's own command line, from the environment that runs the benchmark."""
    program = Path(sys.executable).with_name("gatewright")
    return [str(program if program.exists() else ROOT / ".venv" / "bin" / "gatewright"), *arguments]

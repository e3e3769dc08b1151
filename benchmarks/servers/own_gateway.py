"""The gateway with what no configuration file can say: a tool that is a Python function of its own
process, and more grants than a file may hold.

    python -m benchmarks.servers.own_gateway CONFIG [--local] [--grants N]

With `--local` a server `local` has the tool `echo`. `--grants` adds so many to the table, for agents
and tools that nobody calls. It prints the same ready line as `gatewright serve`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gatewright import app
from gatewright.call import Back, Call
from gatewright.config import Grant, Origin, load, override
from gatewright.servers.local import LocalServer
from gatewright.servers.spec import ServerSpec

__all__ = ["LOCAL", "main"]

LOCAL = "local"
"""The id of the server with the Python tool."""

_SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def _echo(arguments: dict[str, Any], call: Call, back: Back) -> str:
    """Give the text back."""
    del call, back
    text: str = arguments["text"]
    return text


def _local() -> LocalServer:
    definition = {"description": "Gives the text back.", "inputSchema": _SCHEMA}
    return LocalServer(ServerSpec(id=LOCAL), {"echo": (definition, _echo)})


def _grants(count: int, path: Path) -> Iterator[Grant]:
    """Everybody may call the Python tool; the rest is for nobody."""
    origin = Origin(path)
    yield Grant(agent="*", server=LOCAL, origin=origin)
    for number in range(count):
        tool = f"echo_{number % 500}"
        yield Grant(agent=f"agent-{number}", server="echo", tool=tool, origin=origin)


def main(arguments: list[str] | None = None) -> None:
    """Serve until ended from outside."""
    parser = argparse.ArgumentParser(description="a gateway with more than a file can say")
    parser.add_argument("config", type=Path)
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--grants", type=int, default=0)
    options = parser.parse_args(arguments)
    settings = override(load(options.config), port=0)
    grants = (*settings.grants, *_grants(options.grants, options.config))
    app.run(
        msgspec.structs.replace(settings, grants=grants),
        local=[_local()] if options.local else [],
        on_ready=lambda ready: print(f"ready {ready.url}", flush=True),
    )


if __name__ == "__main__":
    main()

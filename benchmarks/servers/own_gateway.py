"""The gateway with what no configuration file can say: a tool that is a Python function of its own
process, and more grants than a file may hold.

    python -m benchmarks.servers.own_gateway CONFIG [--local] [--grants N] [--listed FOLDER]

With `--local` a server `local` has the tool `echo`. `--grants` adds so many to the table, for agents
and tools that nobody calls. Each file of `--listed` is a server of its name, with a tool in each line. It prints the same ready line as
`gatewright serve`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from gatewright.app.run import run
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


def _listed(folder: Path) -> Iterator[LocalServer]:
    for file in sorted(folder.glob("*.jsonl")):
        tools = [json.loads(line) for line in file.read_bytes().splitlines()]
        yield LocalServer(
            ServerSpec(id=file.stem), {one.pop("name"): (one, _echo) for one in tools}
        )


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
    parser.add_argument("--listed", type=Path)
    options = parser.parse_args(arguments)
    settings = override(load(options.config), port=0)
    listed = list(_listed(options.listed)) if options.listed else []
    own = (Grant(agent="*", server=one.id, origin=Origin(options.config)) for one in listed)
    grants = (*settings.grants, *_grants(options.grants, options.config), *own)
    run(
        msgspec.structs.replace(settings, grants=grants),
        local=[*listed, *([_local()] if options.local else [])],
        on_ready=lambda ready: print(f"ready {ready.url}", flush=True),
    )


if __name__ == "__main__":
    main()

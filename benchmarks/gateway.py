"""The gateway as benchmarks run it: every gate and the audit on, open to callers on loopback."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.commands import echo_stdio, gatewright
from benchmarks.processes import Process, started

__all__ = ["Upstream", "config", "gateway", "own_gateway", "stdio_command"]


@dataclass(frozen=True)
class Upstream:
    """A server behind the gateway: a command, or the URL of one that runs."""

    name: str
    command: Sequence[str] = ()
    url: str = ""

    @classmethod
    def echo(cls, name: str = "echo", *options: str) -> Upstream:
        """The stdio echo server."""
        return cls(name, tuple(echo_stdio(*options)))

    def table(self) -> str:
        """The `[[servers]]` table."""
        lines = ["[[servers]]", f"id = {json.dumps(self.name)}"]
        if self.url:
            lines += ['transport = "http"', f"url = {json.dumps(self.url)}"]
        else:
            first, *rest = self.command
            lines += ['transport = "stdio"', f"command = {json.dumps(first)}"]
            lines.append(f"args = {json.dumps(rest)}")
        return "\n".join(lines)


def config(upstreams: Sequence[Upstream], state: Path, sync: str = "") -> str:
    """The text of a configuration: everybody may call everything. `sync` is `[audit] sync` where it
    is not the default."""
    audit = [f"[audit]\nsync = {json.dumps(sync)}"] if sync else []
    tables = [
        '[gateway]\nanonymous = "allow"',
        f"[storage]\npath = {json.dumps(str(state))}",
        "[limits]\ntools_per_server = 20000",
        *audit,
        *(one.table() for one in upstreams),
        *(f'[[grants]]\nagent = "*"\nserver = {json.dumps(one.name)}' for one in upstreams),
    ]
    return "\n\n".join(tables) + "\n"


def _written(name: str, upstreams: Sequence[Upstream], folder: Path, sync: str = "") -> Path:
    home = folder / name
    home.mkdir(exist_ok=True)
    path = home / "mgp.toml"
    path.write_text(config(upstreams, home / "data", sync), encoding="utf-8")
    return path


@contextmanager
def gateway(
    folder: Path, upstreams: Sequence[Upstream], *, name: str = "gatewright", sync: str = ""
) -> Iterator[Process]:
    """A gateway over HTTP for as long as the block; its state is in `folder/name/data`."""
    path = _written(name, upstreams, folder, sync)
    command = gatewright("serve", "--config", str(path), "--port", "0")
    with started(name, command, folder) as process:
        yield process


@contextmanager
def own_gateway(
    folder: Path,
    upstreams: Sequence[Upstream],
    *,
    name: str,
    local: bool = False,
    grants: int = 0,
    listed: Path | None = None,
) -> Iterator[Process]:
    """A gateway with a Python tool (`local/echo`), with so many more grants, or with the tools of the files of a folder."""
    path = _written(name, upstreams, folder)
    command = [sys.executable, "-m", "benchmarks.servers.own_gateway", str(path)]
    command += ["--local"] if local else []
    command += ["--grants", str(grants)]
    command += ["--listed", str(listed)] if listed is not None else []
    with started(name, command, folder) as process:
        yield process


def stdio_command(
    folder: Path, upstreams: Sequence[Upstream], name: str = "gatewright_stdio"
) -> list[str]:
    """The command of a gateway that speaks stdio to its one client."""
    path = _written(name, upstreams, folder)
    return gatewright("serve", "--stdio", "--config", str(path))

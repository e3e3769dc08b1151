"""The first minute of a new user: from an installed clone, with Claude Desktop set up for three servers of which
one is broken, to a call that the host makes through the gateway and that is seen in the record.

    python -m benchmarks.first_minute [--json]      the figures
    python -m benchmarks.first_minute --transcript  what was typed, and what was said

Nothing of the real home is read or written. `make peers` installs the two servers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.commands import gatewright
from benchmarks.processes import ROOT, Trouble, end
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import stdio_client

__all__ = ["BROKEN", "Minute", "Said", "live", "run"]

BROKEN = "no-such-program-here"
PATIENCE = 60.0
NODE = ROOT / "peers" / "node" / "node_modules"


@dataclass(frozen=True)
class Said:
    """A command that was typed, and what came of it."""

    typed: str
    code: int
    out: str
    err: str
    seconds: float


@dataclass
class Minute:
    """What the new user typed and saw, and what the host got."""

    commands: list[Said] = field(default_factory=list)
    entries: dict[str, Any] = field(default_factory=dict)
    """The servers in the file of the host, once it is connected."""
    tools: list[str] = field(default_factory=list)
    """What the host is offered."""
    answers: dict[str, Any] = field(default_factory=dict)
    """Tool → result of the host's call."""
    seconds: float = 0.0

    def said(self, words: str) -> Said:
        """The command that begins with these words."""
        return next(one for one in self.commands if one.typed.startswith(words))


def live(folder: Path) -> Minute:
    """Live through it in an empty folder. Raises `Trouble` where a command fails."""
    home, project, notes = folder / "home", folder / "project", folder / "notes"
    for one in (home, project, notes):
        one.mkdir()
    (notes / "hello.txt").write_text("hello from a file\n", encoding="utf-8")
    desktop = home / ".config" / "Claude" / "claude_desktop_config.json"
    desktop.parent.mkdir(parents=True)
    desktop.write_text(json.dumps(_configured(notes), indent=2), encoding="utf-8")
    environ = {
        "HOME": str(home),
        "PATH": f"{Path(gatewright()[0]).parent}:{NODE / '.bin'}:{os.environ['PATH']}",
        "LANG": "C.UTF-8",
    }
    minute, begun = Minute(), time.perf_counter()

    def type_(*words: str) -> None:
        minute.commands.append(_ended(words, project, environ))

    type_("import", "claude-desktop")
    type_("connect", "claude-desktop", "--yes")
    with _served(project, environ, minute):
        type_("server", "list")
        _host(desktop, notes, folder, environ, minute)
        type_("audit", "tail")
    minute.seconds = time.perf_counter() - begun
    return minute


def _configured(notes: Path) -> dict[str, Any]:
    """The file of a host with three servers, as people have it."""
    servers = NODE / "@modelcontextprotocol"
    everything, files = (
        str(servers / name / "dist" / "index.js")
        for name in ("server-everything", "server-filesystem")
    )
    if not Path(everything).exists():
        raise Trouble("the reference servers are not installed; run `make peers` first")
    return {
        "globalShortcut": "",
        "mcpServers": {
            "everything": {"command": "node", "args": [everything, "stdio"]},
            "filesystem": {"command": "node", "args": [files, str(notes)]},
            "broken": {"command": BROKEN, "args": ["--serve"]},
        },
    }


def _ended(words: tuple[str, ...], folder: Path, environ: Mapping[str, str]) -> Said:
    begun = time.perf_counter()
    done = subprocess.run(
        gatewright(*words),
        cwd=folder,
        env=environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    spent = time.perf_counter() - begun
    said = Said(f"gatewright {' '.join(words)}", done.returncode, done.stdout, done.stderr, spent)
    if done.returncode:
        raise Trouble(f"{said.typed} ended with {said.code}: {said.err}")
    return said


@contextmanager
def _served(folder: Path, environ: Mapping[str, str], minute: Minute) -> Iterator[None]:
    """`gatewright serve` in another terminal, from its ready line on."""
    begun, log = time.perf_counter(), folder.parent / "serve.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            gatewright("serve", "--port", "0"),
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=sink,
            start_new_session=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        spent = time.perf_counter() - begun
        said = Said("gatewright serve", 0, line, log.read_text(encoding="utf-8"), spent)
        if not line.startswith("ready "):
            raise Trouble(f"the gateway did not start: {said.err}")
        minute.commands.append(said)
        yield
    finally:
        end(process)
        if process.stdout is not None:
            process.stdout.close()


def _host(
    desktop: Path, notes: Path, folder: Path, environ: Mapping[str, str], minute: Minute
) -> None:
    """Claude Desktop starts again: it reads its file, starts what it finds there, and calls two tools."""
    minute.entries = json.loads(desktop.read_text(encoding="utf-8"))["mcpServers"]
    entry = minute.entries["gatewright"]
    command = [
        "env",
        "-i",
        *(f"{key}={value}" for key, value in {**environ, **entry.get("env", {})}.items()),
    ]
    command += [entry["command"], *entry["args"]]
    with stdio_client("host", command, folder) as client:
        minute.tools = [one["name"] for one in client.ask("tools/list", {})["tools"]]
        for name, arguments in (
            ("everything__echo", {"message": "hello"}),
            ("filesystem__read_text_file", {"path": str(notes / "hello.txt")}),
        ):
            asked = {"name": name, "arguments": arguments}
            minute.answers[name] = client.ask("tools/call", asked)


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    del stack
    minute = live(options.folder)
    extras = {one.typed: round(one.seconds, 2) for one in minute.commands}
    yield Row("first_minute.seconds", minute.seconds, "s", None, "", 60.0, "ours <=", extras)
    yield Row("first_minute.commands", len(minute.commands), "", None, "", 5.0, "ours <=")


def _transcript() -> int:
    with tempfile.TemporaryDirectory(prefix="gatewright-minute-") as name:
        minute = live(Path(name))
    for one in minute.commands:
        print(f"$ {one.typed}\n{one.out}{one.err}")
    for tool, answer in minute.answers.items():
        print(f"the host calls {tool}: {answer}")
    print(f"{len(minute.commands)} commands, {minute.seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(_transcript() if "--transcript" in sys.argv else main(run, __doc__ or ""))

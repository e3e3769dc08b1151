"""A gateway with a console, as a process of its own, and what a test does with it from a terminal."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from gatewright.cli.running import read_running
from gatewright.console.commands import one_time_url
from tests import fork_server

__all__ = ["DEMO", "Console", "eventually", "running"]

ROOT = Path(__file__).parents[2]
DEMO = f"""
[[servers]]
id = "demo"
command = "{sys.executable}"
args = ["{ROOT}/examples/demo_server.py"]

[servers.tools.delete_all_notes]
risk_level = "dangerous"
confirmation_required = true

[servers.tools.write_note]
risk_level = "moderate"
confirmation_required = true

[[grants]]
agent = "*"
server = "demo"
"""
"""A server with two tools that ask a person, and one that does not (`read_note`)."""
_WAIT_S = 20.0


class Console:
    """One running gateway. `sign_in_url` opens the console once; `url` is the console's without a path."""

    def __init__(self, config: Path, ready: str) -> None:
        self.config = config
        self._state = config.parent / "state"
        words = dict(one.partition("=")[::2] for one in ready.split()[2:])
        self.sign_in_url = words.get("console", "")
        self.url = self.sign_in_url.partition("/open#")[0]
        self.mcp = words["mcp"]

    def command(self, *args: str) -> subprocess.CompletedProcess[str]:
        """Run a command of ours against it, to its end, as its operator."""
        running = read_running(self._state)
        return fork_server.run(
            [sys.executable, "-m", "gatewright", *args, "--config", str(self.config)],
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
            env={**os.environ, "GATEWRIGHT_KEY": running.operator_token},
        )

    def new_url(self) -> str:
        """Another one-time URL, as `gatewright console` gets it: without the start of a process for each page of each test."""
        running = read_running(self._state)
        return one_time_url(running.console, running.operator_token)

    @contextlib.contextmanager
    def calling(self, tool: str, **arguments: Any) -> Iterator[subprocess.Popen[str]]:
        """While inside, a call of a tool runs, or waits for somebody."""
        given = [f"{name}={value}" for name, value in arguments.items()]
        command = [sys.executable, "-m", "gatewright", "tool", "call", tool, *given]
        calling = fork_server.Popen(
            [*command, "--config", str(self.config)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            yield calling
        finally:
            calling.kill()
            calling.communicate()


@contextlib.contextmanager
def running(
    folder: Path,
    text: str = DEMO,
    console: str = "port = 0",
    gateway: str = "",
    program: Sequence[str] = ("-m", "gatewright"),
) -> Iterator[Console]:
    """While inside, a gateway with this configuration runs in `folder`; `console` is its table `[console]`, `gateway` is added to
    `[gateway]`, `program` is what Python runs. What it finds at home is below `folder`, too."""
    config = folder / "mgp.toml"
    head = f'[gateway]\nport = 0\nanonymous = "allow"\n{gateway}\n[storage]\npath = "{folder}/state"\n[console]\n{console}\n'
    config.write_text(head + text, encoding="utf-8")
    log = (folder / "log.txt").open("w", encoding="utf-8")
    process = fork_server.Popen(
        [sys.executable, *program, "serve", "--config", str(config)],
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        env=_at_home(folder),
    )
    try:
        ready = process.stdout.readline() if process.stdout is not None else ""
        if not ready.startswith("ready "):
            raise AssertionError((folder / "log.txt").read_text(encoding="utf-8"))
        yield Console(config, ready)
    finally:
        process.terminate()
        process.communicate(timeout=30)
        log.close()


def _at_home(folder: Path) -> dict[str, str]:
    """Files of hosts of whoever runs the tests are neither shown nor changed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    return {**kept, "HOME": str(home), "XDG_STATE_HOME": str(home)}


def eventually(holds: Callable[[], bool]) -> None:
    """Wait until something holds; fail where it never does."""
    ends = time.monotonic() + _WAIT_S
    while not holds():
        if time.monotonic() > ends:
            raise AssertionError("it never came to be")
        time.sleep(0.05)

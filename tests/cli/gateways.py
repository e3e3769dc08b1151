"""The real gateway as a process, for tests of the commands that run it or speak to it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tests import fork_server
from tests.cli.shell import DEADLINE_S, Shell

__all__ = ["DEMO", "EXAMPLES", "Served", "serving"]

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

DEMO = f"""\
[[servers]]
id = "demo"
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(EXAMPLES / "demo_server.py"))}]
"""
"""The example's server, in a configuration."""


class Served:
    """A gateway that said it is ready."""

    def __init__(self, process: subprocess.Popen[str], ready: str) -> None:
        self.process = process
        self.ready = ready
        _, self.url, *pairs = ready.split()
        self.urls = dict(pair.split("=", 1) for pair in pairs)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Tell it to stop; its exit code and what else it wrote."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=DEADLINE_S)
        return self.process.returncode, out, err


@contextmanager
def serving(shell: Shell, *arguments: str) -> Iterator[Served]:
    """`gatewright serve --port 0` with these arguments, until the block ends."""
    shell.accept()
    process = fork_server.Popen(
        shell.command("serve", "--port", "0", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=shell.environ(),
        cwd=shell.folder,
    )
    try:
        yield Served(process, _first_line(process.stdout, process))
    finally:
        if process.poll() is None:
            process.terminate()
        try:
            process.communicate(timeout=DEADLINE_S)
        except (
            subprocess.TimeoutExpired,
            ValueError,
        ):  # a closed pipe: the test read it to its end
            process.kill()
            process.wait(DEADLINE_S)


def _first_line(out: IO[str] | None, process: subprocess.Popen[str]) -> str:
    assert out is not None
    line = out.readline()
    if not line.startswith("ready "):
        _, err = process.communicate(timeout=DEADLINE_S)
        raise AssertionError(f"not ready: {line!r}; {err}")
    return line

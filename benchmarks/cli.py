"""How soon a command is there: the help, a bridge that answers its host, and the names behind a Tab.

Each figure is the median of many fresh processes, from the start to the last byte of the help, or to
the answer to the host's first question."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks.commands import gatewright
from benchmarks.gateway import Upstream, gateway
from benchmarks.processes import ROOT, Trouble, peer_python
from benchmarks.rows import Options, Row, main
from benchmarks.stdio_client import stdio_client

__all__ = ["run"]

STARTS = 5
"""Processes in one round."""
PATIENCE = 60.0


def _ended(command: Sequence[str], environ: Mapping[str, str] | None = None) -> float:
    """Milliseconds from the start of a program to its end."""
    begun = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, **(environ or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    taken = (time.perf_counter() - begun) * 1000
    if done.returncode or not done.stdout.strip():
        raise Trouble(f"{' '.join(command)} ended with {done.returncode}: {done.stderr[-500:]!r}")
    return taken


def _answered(command: Sequence[str], folder: Path) -> float:
    """Milliseconds from the start of a stdio server to its answer to `initialize`."""
    begun = time.perf_counter()
    with stdio_client("bridge", command, folder):
        return (time.perf_counter() - begun) * 1000


def _medians(options: Options, *timed: Callable[[], float]) -> list[float]:
    """Each taken in turn, so that a busy moment of the machine is shared; the first is a warm-up."""
    for one in timed:
        one()
    taken = [[one() for one in timed] for _ in range(options.rounds * STARTS)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    folder = options.folder
    fastmcp = [str(peer_python("fastmcp").with_name("fastmcp")), "--help"]
    ours, theirs = _medians(options, lambda: _ended(gatewright("--help")), lambda: _ended(fastmcp))
    yield Row("cli.help", ours, "ms", theirs, "fastmcp --help", 250.0, "ours <=")

    served = stack.enter_context(gateway(folder, [Upstream.echo()]))
    config = str(folder / "gatewright" / "mgp.toml")
    proxy = str(peer_python("mcp-proxy").with_name("mcp-proxy"))
    ours, theirs = _medians(
        options,
        lambda: _answered(gatewright("bridge", "--config", config), folder),
        lambda: _answered([proxy, "--transport", "streamablehttp", served.url], folder),
    )
    yield Row("cli.bridge_ready", ours, "ms", theirs, "mcp-proxy as a bridge", 400.0, "ours <=")

    typed = "gatewright tool show e"
    asking = {
        "_GATEWRIGHT_COMPLETE": "complete_bash",
        "COMP_WORDS": typed,
        "COMP_CWORD": "3",
        "GATEWRIGHT_STATE": str(folder / "gatewright" / "data"),
    }
    (ours,) = _medians(options, lambda: _ended(gatewright(), asking))
    yield Row("cli.complete_live_names", ours, "ms", extras={"typed": f"{typed}<Tab>"})


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))

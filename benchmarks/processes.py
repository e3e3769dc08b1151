"""Programs that a benchmark starts, and what the kernel says about them.

Each one lives in a process group of its own, has a deadline for being ready, and is ended before
the benchmark ends. CPU time and memory come from /proc, so those figures exist on Linux only.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = [
    "ROOT",
    "Process",
    "Trouble",
    "children",
    "cpu_seconds",
    "end",
    "free_port",
    "peer_python",
    "resident_bytes",
    "started",
]

ROOT = Path(__file__).resolve().parent.parent
READY_SECONDS = 60.0
STOP_SECONDS = 5.0


class Trouble(Exception):  # noqa: N818 - it is no fault of the program
    """A benchmark could not run; the text says why and what to do."""


@dataclass(frozen=True)
class Process:
    """A running program. `url` is where it serves MCP, if it does so over HTTP."""

    name: str
    pid: int
    url: str
    log: Path


def peer_python(name: str) -> Path:
    """The interpreter of a peer's environment. Raises `Trouble` where it is not installed."""
    path = ROOT / ".peers" / name / "bin" / "python"
    if not path.exists():
        raise Trouble(f"the peer {name} is not installed; run `make peers` first")
    return path


def free_port() -> int:
    """A TCP port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _ready_url(log: Path, port: int | None) -> str | None:
    """The URL once the program is ready: it said so, or it listens on the port it was given."""
    if port is None:
        for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("ready "):
                return next((word for word in line.split() if word.startswith("http")), "")
        return None
    with socket.socket() as probe:
        probe.settimeout(1.0)
        if probe.connect_ex(("127.0.0.1", port)):
            return None
    return f"http://127.0.0.1:{port}/mcp"


def _until_ready(process: subprocess.Popen[bytes], name: str, log: Path, port: int | None) -> str:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        url = _ready_url(log, port)
        if url is not None:
            return url
        if process.poll() is not None:
            break
        time.sleep(0.02)
    tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:])
    why = "ended" if process.poll() is not None else f"was not ready after {READY_SECONDS:.0f} s"
    raise Trouble(f"{name} {why}; its last words:\n{tail}")


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process group that was started here: first politely, then not."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            break
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    process.wait(STOP_SECONDS)


@contextmanager
def started(
    name: str,
    command: Sequence[str | Path],
    folder: Path,
    *,
    port: int | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[Process]:
    """A program that serves for as long as the block.

    It is ready when it listens on `port`, or, without one, when it printed `ready URL`. Raises
    `Trouble` when it does not get that far.
    """
    log = folder / f"{name}.log"
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=ROOT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield Process(name, process.pid, _until_ready(process, name, log, port), log)
    finally:
        end(process)


# --- /proc


def _stat(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat from the state on; None where there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return None
    return text.rpartition(")")[2].split()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process, all its threads, without its children. 0.0 if unknown."""
    fields = _stat(pid)
    if fields is None:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_bytes(pid: int) -> int:
    """The memory that a process holds (RSS). 0 if unknown."""
    try:
        text = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8")
    except OSError:
        return 0
    return int(text.split()[1]) * os.sysconf("SC_PAGE_SIZE")


def children(pid: int) -> dict[int, str]:
    """All descendants of a process, with their command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        fields = _stat(int(entry.name))
        if fields is not None:
            parents[int(entry.name)] = int(fields[1])
    found = {pid}
    while True:
        more = {one for one, parent in parents.items() if parent in found} - found
        if not more:
            break
        found |= more
    return {one: _command_line(one) for one in sorted(found - {pid})}


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""

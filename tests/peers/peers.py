"""Starting foreign clients and servers, and what each of them is called here.

A `Peer` is a client of one SDK, over one transport, in one era. A driver is a program beside this file
that runs in the peer's own environment; it prints one line of JSON. Nothing here outlives its test:
every process is ended by its own handle, and every wait has a deadline.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.behaviour.gateway import COMMAND, ROOT, Gateway

__all__ = [
    "DRIVERS",
    "NODE",
    "PACKAGES",
    "Peer",
    "driver",
    "free_port",
    "guest",
    "listening",
    "profiles",
    "run",
    "seen",
    "serving",
    "stdio",
    "target",
    "together",
]

DRIVERS = Path(__file__).parent / "drivers"
PACKAGES = ROOT / "peers" / "node" / "node_modules"
NODE = str(PACKAGES / ".bin" / "node")
DEADLINE = 90.0
START = 30.0


class Peer(NamedTuple):
    """A client: `driver` names the program, `wire` the transport, `era` how it opens."""

    driver: str
    wire: str
    era: str = "legacy"

    @property
    def key(self) -> str:
        """A word that no other peer has, fit for names and URIs."""
        return f"{self.driver}_{self.wire}_{self.era}"

    @property
    def modern(self) -> bool:
        """Whether it ends up in the era without a handshake, given a gateway that speaks both."""
        return self.era != "legacy"


def driver(name: str, *arguments: str) -> list[str]:
    """The command line of one of the programs in `drivers`."""
    if name.startswith("ts"):
        return [NODE, str(DRIVERS / f"{name}.mjs"), *arguments]
    environment = ROOT / ".peers" / name.partition("_")[0]
    return [str(environment / "bin" / "python"), str(DRIVERS / f"{name}.py"), *arguments]


def guest(ident: str, program: str, *flags: str, **more: Any) -> dict[str, Any]:
    """A `[[servers]]` entry for a guest behind pipes."""
    command, *arguments = driver(program, ident, *flags)
    return {"id": ident, "command": command, "args": arguments, **more}


def profiles(*servers: dict[str, Any]) -> dict[str, Any]:
    """A profile for each server, which shows it as if it were alone."""
    return {one["id"]: {"servers": [one["id"]], "unprefixed": True} for one in servers}


def run(command: list[str], timeout: float = DEADLINE) -> subprocess.CompletedProcess[str]:
    """What a program printed. It leads a group of its own, which does not outlive the deadline."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            out, err = process.communicate()
            raise AssertionError(f"nothing after {timeout:g} s\n{out}\n{err}") from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def seen(peer: Peer, connections: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    """What a peer saw on its visits, by server."""
    plan = {"wire": peer.wire, "era": peer.era, "connections": connections, **more}
    done = run(driver(f"{peer.driver}_client", json.dumps(plan)))
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def together(*each: Callable[[], Any]) -> list[Any]:
    """What several things done at the same time came to."""
    with ThreadPoolExecutor(len(each)) as pool:
        return [one.result() for one in [pool.submit(job) for job in each]]


def target(gateway: Gateway, peer: Peer, profile: str = "") -> Any:
    """Where a peer finds the gateway: a URL, or for stdio a command."""
    if peer.wire == "stdio":
        return stdio(gateway, profile)
    if peer.wire == "sse":
        return gateway.urls["sse"]
    base = gateway.urls["websocket" if peer.wire == "websocket" else "mcp"]
    return f"{base}/{profile}" if profile else base


def free_port() -> int:
    """A port that nobody has at the moment, for servers that cannot be told to find one."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def stdio(gateway: Gateway, profile: str = "") -> list[str]:
    """A bridge to a running gateway, for hosts that start programs."""
    chosen = ["--profile", profile] if profile else []
    return [*COMMAND, "bridge", "--config", str(gateway.file), *chosen]


def serving(gateway: Gateway, profile: str = "") -> list[str]:
    """A gateway of its own behind pipes, configured like one that runs."""
    alone = gateway.folder / "alone"
    alone.mkdir(exist_ok=True)
    text = gateway.file.read_text().replace(str(gateway.folder / "state"), str(alone / "state"))
    (alone / "mgp.toml").write_text(text)
    chosen = ["--profile", profile] if profile else []
    return [*COMMAND, "serve", "--stdio", "--config", str(alone / "mgp.toml"), *chosen]


@contextmanager
def listening(
    command: list[str], *, env: dict[str, str] | None = None, ready: str = "ready "
) -> Iterator[str]:
    """A server in a process of its own, until the block ends: the line that says that it is ready."""
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(env or {})},
    ) as process:
        output = process.stdout
        assert output is not None
        timer = threading.Timer(START, process.kill)
        timer.start()
        drain = threading.Thread(target=output.read, daemon=True)
        lines: list[str] = []
        try:
            for line in output:
                lines.append(line)
                if ready in line:
                    break
            else:
                raise AssertionError(f"{command[1]} did not start:\n{''.join(lines)}")
            timer.cancel()
            # What it says from now on is read, so that it never waits for us, and forgotten.
            drain.start()
            yield lines[-1].strip()
        finally:
            timer.cancel()
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            if drain.is_alive():
                drain.join(10)

"""Rooms: how many deliveries a second one message after the other gets, and sixteen at once, beside `websockets.broadcast`
in the same run; what readers cost that never read; the memory of thousands that are connected; what is left of them.

Readers are a C program (`load/fanout.c`), so this needs Linux and a C compiler. Final figures want a quiet machine. For a
quick look: `ROOMS_SCALE=0.1 python -m benchmarks.rooms --rounds 1 --seconds 0.3`, which has a tenth of the readers.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.commands import gatewright
from benchmarks.processes import (
    ROOT,
    Process,
    Trouble,
    free_port,
    resident_bytes,
    started,
)
from benchmarks.rows import Options, Row, main

__all__ = ["run"]

TOKEN = "the-token-of-the-sender"  # noqa: S105 - of a gateway that lives as long as the benchmark
CONFIG = """
[storage]
path = {state}
[rooms]
anonymous_profile = "response-only"
max_participants = 20000
messages_per_s = 1e9
burst = 1000000000
bytes_per_s = 1e9
burst_bytes = 1000000000
[[rooms.participants]]
id = "sender"
token = "{token}"
profile = "full"
"""
PEER = "websockets.broadcast"
FANOUT = (
    # readers, in flight, deliveries a second
    (1000, 16, 700_000),
    (1000, 1, 150_000),
    (100, 1, 150_000),
    (5000, 1, 100_000),
)
SIZE = 200
"""Bytes of one message."""
DEAF = 500
CLIENTS = 10_000
IN_TOPIC = 100
LIMIT_S = 300.0
_SCALE = float(os.environ.get("ROOMS_SCALE", "1"))


def _some(count: int) -> int:
    return max(4, int(count * _SCALE))


class Readers:
    """The C program."""

    def __init__(self, folder: Path) -> None:
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
        if compiler is None:
            raise Trouble("the readers are a C program: install a C compiler")
        self._program = folder / "fanout"
        source = ROOT / "benchmarks" / "load" / "fanout.c"
        build = [compiler, "-O2", "-o", str(self._program), str(source)]
        built = subprocess.run(build, check=False, capture_output=True, timeout=LIMIT_S)
        if built.returncode:
            raise Trouble(f"the readers do not compile: {built.stderr.decode()[-500:]}")

    def command(
        self,
        at: Process,
        readers: int,
        *,
        topic: str = "t",
        deaf: int = 0,
        in_flight: int = 0,
        seconds: float = 0.0,
        size: int = SIZE,
    ) -> list[str]:
        """The command line of one run."""
        token = "-" if at.name == PEER else TOKEN
        numbers = [readers, deaf, in_flight, seconds, size, at.pid]
        port = str(urlsplit(at.url).port)
        return [str(self._program), port, f"/ws?topic={topic}", token, *map(str, numbers)]

    def round(self, at: Process, readers: int, **more: Any) -> dict[str, float]:
        """One measurement. Raises `Trouble` where a message did not come."""
        run = subprocess.run(
            self.command(at, readers, **more), check=False, capture_output=True, timeout=LIMIT_S
        )
        if run.returncode:
            raise Trouble(f"{readers} readers of {at.name}: {run.stderr.decode()[-300:]}")
        found: dict[str, float] = json.loads(run.stdout)
        return found


@contextmanager
def _gateway(folder: Path) -> Iterator[Process]:
    path = folder / "mgp.toml"
    path.write_text(CONFIG.format(state=json.dumps(str(folder / "state")), token=TOKEN))
    command = gatewright("serve", "--config", str(path), "--port", "0")
    with started("gatewright", command, folder) as process:
        yield process


def _rate(sample: dict[str, float]) -> float:
    return sample["deliveries"] / sample["seconds"]


def _fan_out(readers: Readers, ours: Process, peer: Process, options: Options) -> Iterator[Row]:
    for count, in_flight, target in FANOUT:
        count = _some(count)  # noqa: PLW2901 - the same, at this scale
        taken: dict[str, list[dict[str, float]]] = {ours.name: [], peer.name: []}
        for number in range(options.rounds):
            for one in (ours, peer):
                taken[one.name].append(
                    readers.round(
                        one,
                        count,
                        topic=f"t{count}-{in_flight}-{number}",
                        in_flight=in_flight,
                        seconds=options.seconds,
                    )
                )
        mine = [_rate(one) for one in taken[ours.name]]
        theirs = [_rate(one) for one in taken[peer.name]]
        last = taken[ours.name][-1]
        extras = {
            "cpu_us_per_delivery": round(1e6 * last["server_cpu_seconds"] / last["deliveries"], 2),
            "p99_us": last["p99_us"],
            "ahead_of_peer": statistics.median(mine) > statistics.median(theirs),
        }
        yield Row(
            f"rooms.fanout.{count}x{in_flight}",
            statistics.median(mine),
            "/s",
            statistics.median(theirs),
            PEER,
            target,
            "ours >=",
            extras,
        )


def _deaf(readers: Readers, ours: Process, options: Options) -> Iterator[Row]:
    """The p99 of readers who read, with and without as many who do not."""
    count, deaf, seconds = _some(DEAF), _some(DEAF), max(options.seconds, 2.0)
    more: dict[str, Any] = {"in_flight": 4, "seconds": seconds, "size": 2000}
    pairs = []
    for number in range(options.rounds):
        alone = readers.round(ours, count, topic=f"alone{number}", **more)
        beside = readers.round(ours, count, topic=f"deaf{number}", deaf=deaf, **more)
        pairs.append((beside["p99_us"], alone["p99_us"]))
    yield Row(
        f"rooms.slow.{deaf}.p99",
        statistics.median(one for one, _ in pairs),
        "us",
        statistics.median(one for _, one in pairs),
        "the same without them",
        2.0,
        "ratio <=",
        {"readers": count},
        paired=statistics.median(one / other for one, other in pairs),
    )


@contextmanager
def _held(readers: Readers, ours: Process, count: int) -> Iterator[None]:
    """So many clients, connected as long as the block."""
    ready = 0.0
    with ExitStack() as stack:
        for first in range(0, count, IN_TOPIC):
            topic = f"held{first}"
            program = subprocess.Popen(
                [
                    *readers.command(ours, min(IN_TOPIC, count - first), topic=topic)[:3],
                    "-",
                    *readers.command(ours, min(IN_TOPIC, count - first))[4:],
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            stack.callback(_let_go, program)
            assert program.stdout is not None
            line = program.stdout.readline()
            if not line.startswith(b"ready"):
                raise Trouble(f"{count} clients could not all connect; see `ulimit -n`")
            ready += float(line.split()[1])
        yield


def _let_go(program: subprocess.Popen[bytes]) -> None:
    for pipe in (program.stdin, program.stdout):
        if pipe is not None:
            pipe.close()
    try:
        program.wait(10)
    except subprocess.TimeoutExpired:
        program.kill()
        program.wait(10)


def _files(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


def _memory(readers: Readers, ours: Process) -> Iterator[Row]:
    count = _some(CLIENTS)
    files, before = _files(ours.pid), resident_bytes(ours.pid)
    lines = len(ours.log.read_bytes().splitlines())
    with _held(readers, ours, count):
        held = resident_bytes(ours.pid)
    deadline = time.monotonic() + LIMIT_S
    while _files(ours.pid) > files and time.monotonic() < deadline:
        time.sleep(0.05)
    left = _files(ours.pid) - files
    after = resident_bytes(ours.pid)
    said = len(ours.log.read_bytes().splitlines()) - lines
    each = (held - before) / count / 1024
    extras = {"rss_before_kb": before // 1024, "rss_after_kb": after // 1024}
    name = f"rooms.clients.{count}"
    yield Row(f"{name}.memory_each", each, "KiB", None, "", 40, "ours <=", extras)
    yield Row(f"{name}.dropped.log_lines", said, "", None, "", 100, "ours <=")
    yield Row(f"{name}.dropped.sockets_left", left, "", None, "", 0, "ours <=")


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    readers = Readers(options.folder)
    ours = stack.enter_context(_gateway(options.folder))
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.servers.broadcast", str(port)]
    with started(PEER, command, options.folder, port=port) as peer:
        yield from _fan_out(readers, ours, peer, options)
    yield from _deaf(readers, ours, options)
    with ExitStack() as fresh:
        home = options.folder / "memory"
        home.mkdir()
        yield from _memory(readers, fresh.enter_context(_gateway(home)))


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))

"""Loads several systems by turns and says what each one did.

Rates on a shared machine wander, so systems that are compared are loaded in the same run, in short
rounds, one after the other, and the medians of the rounds are what counts. CPU a call is that
of the system's own process (/proc/PID/stat: all its threads, none of its children), over everything
it was asked in the round, warm-up included.
"""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.load.generate import PLACE
from benchmarks.mcp_client import Session, open_sessions
from benchmarks.processes import ROOT, Process, Trouble, cpu_seconds

__all__ = ["Loader", "Sample", "System", "as_system", "measure", "measure_pair"]

LOAD_SECONDS = 60.0
_SOURCE = Path(__file__).resolve().parent / "load" / "load.c"


@dataclass
class System:
    """Something that answers the echo tool over HTTP. `pid` is whose CPU is counted."""

    name: str
    url: str
    pid: int | None = None
    era: str = "legacy"
    tool: str = "echo"
    bare: bool = False
    """It understands nothing: no hello, no list."""
    spelled: bytes = b""
    """A call as it is posted to what takes no JSON-RPC: no hello, no list."""
    sessions: list[Session] = field(default_factory=list)

    def requests(self, count: int) -> list[bytes]:
        """A tool call for each of `count` clients; each has a session of its own."""
        if self.spelled:
            self.sessions = [Session(self.url)]
            return [self.spelled] * count
        missing = count - len(self.sessions)
        if self.bare:
            self.sessions += [Session(self.url) for _ in range(missing)]
        elif missing > 0:
            fresh = open_sessions(self.url, missing, self.era)
            if not self.sessions:
                self.tool = fresh[0].tool(self.tool)
            for each in fresh:
                each.close()
            self.sessions += fresh
        params = {"name": self.tool, "arguments": {"text": f"hello {PLACE.decode()}"}}
        return [each.spelled("tools/call", params) for each in self.sessions[:count]]


@dataclass(frozen=True)
class Sample:
    """What one system did under one load: calls a second, microseconds."""

    rate: float
    p50_us: float
    p99_us: float
    cpu_us: float | None = None
    generator_busy: float = 0.0
    """The part of the time that the load generator computed; near 1.0 it is itself the limit."""

    def extras(self) -> dict[str, Any]:
        """For a row."""
        found = {"p50_us": round(self.p50_us, 1), "p99_us": round(self.p99_us, 1)}
        if self.cpu_us is not None:
            found["cpu_us_per_call"] = round(self.cpu_us, 1)
        return found | {"generator_busy": round(self.generator_busy, 2)}


class Loader:
    """Runs the load generator: the C one where it compiles, else the Python one."""

    def __init__(self, folder: Path, kind: str = "auto") -> None:
        self._folder = folder
        self._command: list[str] = [sys.executable, "-m", "benchmarks.load.generate"]
        self.kind = "python"
        compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
        if kind != "python" and compiler is not None:
            program = folder / "load"
            build = [compiler, "-O2", "-o", str(program), str(_SOURCE)]
            built = subprocess.run(build, check=False, capture_output=True, timeout=LOAD_SECONDS)
            if built.returncode == 0:
                self._command, self.kind = [str(program)], "c"
        if kind == "c" and self.kind != "c":
            raise Trouble(
                "the C load generator needs a C compiler and Linux; leave out --generator"
            )

    def round(self, system: System, clients: int, seconds: float, warmup: float) -> Sample:
        """Load a system once. Raises `Trouble` when an answer was wrong or did not come."""
        requests = system.requests(clients)
        path = self._folder / "requests"
        path.write_bytes(b"".join(b"%d\n%b" % (len(one), one) for one in requests))
        session = system.sessions[0]
        load = [session.host, str(session.port), str(seconds), str(warmup), str(path)]
        before = cpu_seconds(system.pid) if system.pid else 0.0
        try:
            run = subprocess.run(
                [*self._command, *load],
                check=False,
                cwd=ROOT,
                capture_output=True,
                timeout=LOAD_SECONDS,
            )
        except subprocess.TimeoutExpired as late:
            raise Trouble(f"the load on {system.name} did not end") from late
        used = cpu_seconds(system.pid) - before if system.pid else 0.0
        if run.returncode != 0:
            raise Trouble(f"load on {system.name} x {clients}: {run.stderr.decode()[-300:]}")
        got = json.loads(run.stdout)
        if got["errors"] or not got["calls"]:
            wrong = f"{got['errors']} of {got['all_calls']} answers wrong: {got['first_error']}"
            raise Trouble(f"load on {system.name} x {clients}: {wrong}")
        return Sample(
            rate=got["calls"] / got["seconds"],
            p50_us=got["p50_us"],
            p99_us=got["p99_us"],
            cpu_us=used / got["all_calls"] * 1e6 if used else None,
            generator_busy=got["cpu_seconds"] / (seconds + warmup),
        )


def _middle(samples: Sequence[Sample]) -> Sample:
    cpu = [one.cpu_us for one in samples if one.cpu_us is not None]
    return Sample(
        rate=statistics.median(one.rate for one in samples),
        p50_us=statistics.median(one.p50_us for one in samples),
        p99_us=statistics.median(one.p99_us for one in samples),
        cpu_us=statistics.median(cpu) if cpu else None,
        generator_busy=statistics.median(one.generator_busy for one in samples),
    )


def measure(
    loader: Loader,
    systems: Iterable[System],
    clients: Sequence[int],
    rounds: int,
    seconds: float,
    warmup: float = 0.3,
) -> dict[tuple[str, int], Sample]:
    """Medians by (system, clients), all systems by turns in every round."""
    taken: dict[tuple[str, int], list[Sample]] = {}
    todo = list(systems)
    for _ in range(rounds):
        for count in clients:
            for system in todo:
                sample = loader.round(system, count, seconds, warmup)
                taken.setdefault((system.name, count), []).append(sample)
    return {key: _middle(samples) for key, samples in taken.items()}


def measure_pair(
    loader: Loader,
    pair: tuple[System, System],
    clients: int,
    rounds: int,
    seconds: float,
    warmup: float = 0.1,
) -> tuple[Sample, Sample, float]:
    """Medians of two systems, and the median over the rounds of the first's rate by the second's.

    The two rounds of a pair stand next to each other in time, in changing order, so that what else
    the machine does meanwhile falls on both.
    """
    taken: tuple[list[Sample], list[Sample]] = ([], [])
    for number in range(rounds):
        for which in (0, 1) if number % 2 else (1, 0):
            taken[which].append(loader.round(pair[which], clients, seconds, warmup))
    ratios = [one.rate / other.rate for one, other in zip(*taken, strict=True)]
    return _middle(taken[0]), _middle(taken[1]), statistics.median(ratios)


def as_system(process: Process, **more: Any) -> System:
    """A process as something to load."""
    return System(process.name, process.url, process.pid, **more)

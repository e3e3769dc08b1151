"""Run the official MCP conformance suites against the gateway and say how many scenarios pass.

For every set one line `name passed/scored` goes to stdout, and nothing else; the scenarios that
fail are named on stderr. The exit status is 0 only when every set reaches its bar.

Three server sets put the gateway in front of `everything_server.py`; `--direct` leaves the gateway
out, to know that the ground itself is sound; `--sdk` takes `own_everything.py` instead, a server on the project's own SDK. Two client sets (`--client`) let the gateway's client
side, driven by `client.py`, talk to servers that the suite starts.

Everything that is started here lives in a process group of its own, is waited for with a deadline
and is ended before this program ends. Only the standard library is used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SETS", "Outcome", "RunError", "Set", "gateway_config", "judge", "main", "serving"]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
NODE_MODULES = ROOT / "peers" / "node" / "node_modules"
SDK2_PYTHON = ROOT / ".peers" / "sdk2" / "bin" / "python"
OWN_PYTHON = ROOT / ".venv" / "bin" / "python"
GATEWAY = ROOT / ".venv" / "bin" / "gatewright"
RESULTS = ROOT / "results" / "conformance"
DRIVER = HERE / "client.py"
OWN_DRIVER = HERE / "own_client.py"

READY_SECONDS = 30.0
SUITE_SECONDS = 600.0
STOP_SECONDS = 5.0

SUMMARY = re.compile(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", re.MULTILINE)
URL = re.compile(r"http://\S+/mcp\b")


@dataclass(frozen=True)
class Set:
    """One run of one suite: what to ask for, and what counts as reached."""

    name: str
    side: str  # "server" or "client": which side of ours is under test
    package: str  # the npm alias of the suite
    ask: tuple[str, ...]
    bar: int
    checks: int = 0  # at least so many single checks have to pass, where the bar names a number


SETS = (
    Set("server-0.1.16-all", "server", "conformance-stable", ("--suite", "all"), 32, checks=44),
    Set("server-2025-11-25", "server", "conformance-next", ("--requirements", "2025-11-25"), 30),
    Set("server-2026-07-28", "server", "conformance-next", ("--requirements", "2026-07-28"), 37),
    Set("client-2025-11-25", "client", "conformance-next", ("--requirements", "2025-11-25"), 18),
    Set("client-2026-07-28", "client", "conformance-next", ("--requirements", "2026-07-28"), 32),
)


@dataclass(frozen=True)
class Outcome:
    """What one set came to."""

    passed: int
    scored: int
    checks: int
    failing: tuple[str, ...]
    met: bool


class RunError(Exception):
    """The run could not take place; the text says what to do."""


# --- processes


def _end(process: subprocess.Popen[str]) -> None:
    """End a process group that was started here: first politely, then what is left of it."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)


class _Ready:
    """Waits for the `ready …` line on the stdout of a child; all of stdout goes into `log`."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self.process = process
        self.log = log
        self.url = ""
        self._seen = threading.Event()
        self._thread = threading.Thread(target=self._pump, daemon=True)
        self._thread.start()

    def _pump(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as source, self.log.open("w", encoding="utf-8") as sink:
            for line in source:
                sink.write(line)
                sink.flush()
                found = URL.search(line) if line.startswith("ready ") else None
                if found and not self.url:
                    self.url = found.group()
                    self._seen.set()
        self._seen.set()

    def wait(self, command: list[str]) -> str:
        """The URL, as soon as it is known."""
        self._seen.wait(READY_SECONDS)
        if self.url:
            return self.url
        ended = "ended before it was ready" if self._seen.is_set() else "never said it was ready"
        waited = f"waited up to {READY_SECONDS:.0f} s; see {self.log.parent}"
        raise RunError(f"{Path(command[0]).name} {ended} ({waited})")

    def finish(self) -> None:
        """Let the last lines reach the log."""
        self._thread.join(STOP_SECONDS)


@contextmanager
def serving(command: list[str], log: Path, cwd: Path) -> Iterator[str]:
    """A server that runs for as long as the block; gives its URL.

    Raises RunError when it does not get ready.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,
        )
        ready = _Ready(process, log.with_suffix(".out"))
        try:
            yield ready.wait(command)
        finally:
            _end(process)
            ready.finish()


def _suite(command: list[str], log: Path) -> str:
    """The whole output of a suite run, which is also kept in `log`."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SUITE_SECONDS)
    except subprocess.TimeoutExpired as late:
        raise RunError(f"the suite did not end in {SUITE_SECONDS:.0f} s; see {log}") from late
    finally:
        _end(process)
    log.write_text(output, encoding="utf-8")
    return output


# --- what is put in front of the suite


def gateway_config(transport: str, url: str = "") -> str:
    """The gateway's configuration: one upstream under its own names, open to loopback callers."""
    if transport == "http":
        upstream = f'transport = "http"\nurl = {json.dumps(url)}'
    else:
        script = str(HERE / "everything_server.py")
        command, args = json.dumps(str(SDK2_PYTHON)), json.dumps([script, "--stdio"])
        upstream = f'transport = "stdio"\ncommand = {command}\nargs = {args}'
    return f"""\
[gateway]
unprefixed = true
anonymous = "allow"

[storage]
path = "state"

[[servers]]
id = "everything"
{upstream}

[[grants]]
agent = "*"
server = "everything"
permission = "allow"
"""


@contextmanager
def _under_test(options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The URL that the suite shall talk to."""
    with ExitStack() as stack:
        url = ""
        if options.sdk:
            command = [str(OWN_PYTHON), str(HERE / "own_everything.py")]
            yield stack.enter_context(serving(command, folder / "own.log", ROOT))
            return
        if options.direct or options.upstream == "http":
            command = [str(SDK2_PYTHON), str(HERE / "everything_server.py"), "--port", "0"]
            url = stack.enter_context(serving(command, folder / "everything.log", ROOT))
        if not options.direct:
            config = folder / "mgp.toml"
            config.write_text(gateway_config(options.upstream, url), encoding="utf-8")
            command = [str(GATEWAY), "serve", "--config", str(config), "--port", "0"]
            url = stack.enter_context(serving(command, folder / "gateway.log", folder))
        yield url


# --- sets


def _scored(chosen: Set, ran: list[str]) -> list[str]:
    """The scenarios that count: all that ran, or what the frozen requirement file lists."""
    if chosen.ask[0] != "--requirements":
        return ran
    file = NODE_MODULES / chosen.package / "requirements" / f"{chosen.ask[1]}.yaml"
    names: list[str] = []
    section = ""
    for line in file.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith((" ", "#")):
            section = line.rstrip(":")
        elif section == chosen.side and line.startswith("  - "):
            names.append(line.removeprefix("  - ").strip())
    return names


def judge(chosen: Set, output: str) -> Outcome:
    """Count what the suite printed; a scored scenario that never ran counts as failing.

    So does a client scenario without a single passed check: a client that does nothing at all
    would otherwise pass those that only look at what they are sent.
    """
    tally = {name: (int(good), int(bad)) for name, good, bad in SUMMARY.findall(output)}
    scored = _scored(chosen, list(tally))
    least = 1 if chosen.side == "client" else 0
    good = {name for name, (passed, failed) in tally.items() if not failed and passed >= least}
    failing = tuple(name for name in scored if name not in good)
    checks = sum(tally[name][0] for name in scored if name in tally)
    passed = len(scored) - len(failing)
    met = passed >= chosen.bar and not failing and checks >= chosen.checks
    return Outcome(passed, max(len(scored), chosen.bar), checks, failing, met)


def _run(chosen: Set, options: argparse.Namespace) -> Outcome:
    folder = options.results / (chosen.name + ("-sdk" if options.sdk else ""))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    node = [str(NODE_MODULES / ".bin" / "node")]
    suite = [*node, str(NODE_MODULES / chosen.package / "dist" / "index.js"), chosen.side]
    tail = [*chosen.ask, "-o", str(folder / "scenarios")]
    with ExitStack() as stack:
        if chosen.side == "server":
            url = stack.enter_context(_under_test(options, folder))
            head = ["--url", url]
        else:
            # All client scenarios run at once; a small machine needs far more than the default.
            driver = f"{OWN_PYTHON} {OWN_DRIVER if options.sdk else DRIVER}"
            head = ["--command", driver, "--timeout", "120000"]
        outcome = judge(chosen, _suite([*suite, *head, *tail], folder / "suite.log"))
    (folder / "summary.json").write_text(json.dumps(vars(outcome), indent=2), encoding="utf-8")
    return outcome


def _report(chosen: Set, options: argparse.Namespace, outcome: Outcome) -> None:
    way = "-direct" if options.direct and chosen.side == "server" else ""
    name = chosen.name + ("-sdk" if options.sdk else way)
    print(f"{name} {outcome.passed}/{outcome.scored}", flush=True)
    for scenario in outcome.failing:
        print(f"  {name}: fails {scenario}", file=sys.stderr)
    if outcome.checks < chosen.checks:
        words = f"{outcome.checks} single checks pass, the bar is {chosen.checks}"
        print(f"  {name}: {words}", file=sys.stderr)


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="MCP conformance suites against the gateway")
    names = [each.name for each in SETS]
    parser.add_argument("--direct", action="store_true", help="without the gateway in front")
    parser.add_argument("--sdk", action="store_true", help="a server on our own SDK, alone")
    parser.add_argument("--upstream", choices=("http", "stdio"), default="http")
    parser.add_argument("--client", action="store_true", help="the client sets too")
    parser.add_argument("--set", action="append", choices=names, help="only this one (repeatable)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where details are kept")
    options = parser.parse_args(arguments)
    options.results = options.results.resolve()
    return options


def _needed(options: argparse.Namespace) -> None:
    """Stop early, and say how to go on, when something is not installed."""
    for path in (NODE_MODULES / ".bin" / "node", SDK2_PYTHON):
        if not path.exists():
            raise RunError(f"{path} is missing; run `make peers` first")
    if not options.direct and not GATEWAY.exists():
        raise RunError(f"{GATEWAY} is missing; run `make setup` first")
    if any(each.side == "client" for each in _chosen(options)) and not DRIVER.exists():
        raise RunError(f"the client sets need the driver {DRIVER}, which is not there")


def _chosen(options: argparse.Namespace) -> list[Set]:
    if options.set:
        return [each for each in SETS if each.name in options.set]
    return [each for each in SETS if each.side == "server" or options.client]


def main(arguments: list[str] | None = None) -> int:
    """0 when every chosen set reached its bar, 1 when one did not, 2 when nothing could be run."""
    options = _options(arguments)
    reached = True
    try:
        _needed(options)
        for each in _chosen(options):
            outcome = _run(each, options)
            _report(each, options, outcome)
            reached = reached and outcome.met
    except RunError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())

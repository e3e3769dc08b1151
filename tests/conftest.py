"""Rules for every run: nothing is skipped, peer tests run only where the peers are, and a table of rows is one test.

A skipped test is a promise nobody keeps, so a run with a skip or an expected failure in it fails.
Tests that talk to foreign clients and servers carry the `peers` mark. They are left out, with one
line that says so, until `make peers` has installed what they talk to; with `--require-peers` (as
in CI) they are never left out. The same holds for `agents`, `make agents` and `--require-agents`,
for `sandbox`, which needs bubblewrap and a kernel that lets it work, and `--require-sandbox`, for `traced`, which needs strace as
well, and `--require-traced`, and for `browser`, which needs chromium and the accessibility checks of `make peers`, and `--require-browser`.

A third for runs that measure coverage: no thread is stopped while it is measured. An exception sent to a thread that
waits in C (sdk/threads) has CPython 3.11 go round in every traced function call of every other thread until it
arrives, and where such a thread was to wake that one it never does. `no_cover` pauses the measuring for a test.
"""

from __future__ import annotations

import asyncio
import gc
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Processes of one run compile the package once and not each for itself, also where the user has Python write nothing. Before the first
# of its modules is imported: those would be compiled by each process of each run, and by all that a fork server makes.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

from gatewright.secret_scanning import HELD  # noqa: E402 - see above
from tests import fork_server  # noqa: E402 - see above
from tests.cli.fixtures import endpoint, shell  # noqa: E402 - see above
from tests.connections import Connections  # noqa: E402 - see above
from tests.gathered_rows import gather, gathered, rows_of  # noqa: E402 - see above
from tests.prepared_noted import FILE, OnlyNoted, begin_to_note, noted_in, options  # noqa: E402 - see above
from tests.prepared_run import PreparedRun  # noqa: E402 - see above

__all__ = ["AGENT_STAMPS", "PEER_STAMPS", "endpoint", "shell"]

ROOT = Path(__file__).resolve().parent.parent

# Folders of tests are in memory where it can be had: no test can tell, and databases need not wait for a disk. Some tests
# run programs that they write there, which not every system allows.
if (
    os.access("/dev/shm", os.W_OK)
    and not os.statvfs("/dev/shm").f_flag & os.ST_NOEXEC
    and shutil.disk_usage("/dev/shm").free > 1 << 31
):
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

# As for whoever has installed it: a shell finds `gatewright`, and commands that are shown begin with that word.
os.environ["PATH"] = f"{Path(sys.executable).absolute().parent}{os.pathsep}{os.environ['PATH']}"
PEER_STAMPS = (
    ROOT / "peers/node/node_modules/.ready",
    *(
        ROOT / ".peers" / name / ".ready"
        for name in ("sdk1", "sdk2", "fastmcp", "mcp-proxy", "schemathesis")
    ),
)

AGENT_STAMPS = tuple(
    ROOT / ".peers" / f"agents-{name}" / ".ready" for name in ("langchain", "openai", "pydantic")
)
AXE = ROOT / "peers/node/node_modules/axe-core/axe.min.js"
STAMPS = {"peers": PEER_STAMPS, "agents": AGENT_STAMPS}
_FIRST = {
    "peers": "run `make peers` first",
    "agents": "run `make agents` first",
    "sandbox": "install bubblewrap first (docs/isolation.md)",
    "traced": "install bubblewrap and strace first",
    "browser": "install chromium, and run `make peers` first",
}

# How long an example takes says how busy the machine is, not whether the code is right.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")

fork_server.adopt()
CONNECTIONS = Connections()
CONNECTIONS.watch()
_processes: list[int] = []
"""Those of xdist, in the process that has them run the tests."""
_told_at = [-math.inf]
"""When SIGTERM came."""
_TWICE_S = 1.0
_ROWS = "rows"
"""A property of the report of a table."""
_left_out = pytest.StashKey[dict[str, int]]()
_not_run = pytest.StashKey[list[str]]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    """What one test has the process hold as a secret is none in the next, and no test keeps the run from being ended."""
    HELD.clear()
    if rows := rows_of(item):
        item.user_properties.append((_ROWS, rows))
    result = yield
    if (left := signal.getsignal(signal.SIGTERM)) is not _end:
        signal.signal(signal.SIGTERM, _end)
        of_a_loop = isinstance(getattr(left, "__self__", None), asyncio.AbstractEventLoop)
        if left is not signal.SIG_DFL and not of_a_loop:  # what the loops leave, closed as they are
            pytest.fail(f"it left a handler of SIGTERM behind: {left}")
    if opened := CONNECTIONS.end():
        pytest.fail(f"it left connections to SQLite open: {opened}")
    return result


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
    """What a fixture opens may be open for as long as it is there."""
    before, CONNECTIONS.scope = CONNECTIONS.scope, fixturedef.scope
    try:
        return (yield)
    finally:
        CONNECTIONS.scope = before


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--require-peers` and the like, and `--each-row`."""
    for mark, first in _FIRST.items():
        parser.addoption(
            f"--require-{mark}",
            action="store_true",
            help=f"run the tests marked `{mark}` also where they are left out ({first})",
        )
    parser.addoption(
        "--each-row",
        action="store_true",
        help="run each row of a table as a test of its own (tests/gathered_rows.py)",
    )
    options(parser)


@pytest.hookimpl(wrapper=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> Generator[None, Any, Any]:
    """A table of rows is one test, unless one of its rows is asked for."""
    made = yield
    if not metafunc.config.getoption("each_row") and "[" not in "".join(metafunc.config.args):
        gather(metafunc)
    return made


@pytest.hookimpl(wrapper=True)
def pytest_pycollect_makeitem() -> Generator[None, Any, Any]:
    """See above."""
    found = yield
    return gathered(found, HELD.clear) if isinstance(found, list) else found


def pytest_configure(config: pytest.Config) -> None:
    """Prepare the two lists that the end of the run reads, and collect tests without looking for garbage."""
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        gc.disable()  # until `pytest_collection_finish`, which the process that has others work does not come to
    if notes := config.getoption("note_prepared"):
        os.environ[FILE] = str(Path(notes).absolute())
    if noted := config.getoption("noted_prepared"):
        config.pluginmanager.register(OnlyNoted(noted_in(Path(noted))), "gatewright-only-noted")
    if hasattr(config, "workerinput") and config.rootpath == Path(fork_server.__file__).parents[1]:
        fork_server.begin()  # which loads while tests are collected
    begin_to_note()
    if os.environ.get("PREPARED_CALLS"):
        config.pluginmanager.register(PreparedRun(), "gatewright-prepared-run")
    config.stash[_left_out] = {}
    config.stash[_not_run] = []
    config.pluginmanager.register(_NothingSkipped(config), "gatewright-nothing-skipped")
    if hasattr(config, "workerinput") and config.pluginmanager.hasplugin("_cov"):
        _stop_measuring_twice()


def _stop_measuring_twice() -> None:
    """Ends what measures a process of xdist before the session begins to. A pause of the one would resume the other."""
    from coverage import Coverage  # noqa: PLC0415 - only where something is measured

    while (measuring := Coverage.current()) is not None:
        measuring.stop()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests out while what they talk to is not installed."""
    for mark in _FIRST:
        left_out = [item for item in items if item.get_closest_marker(mark)]
        if left_out and not config.getoption(f"--require-{mark}") and not _is_there(mark):
            config.stash[_left_out][mark] = len(left_out)
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker(mark)]


def _is_there(mark: str) -> bool:
    """Whether what the tests of a mark talk to is installed."""
    if mark == "browser":
        return shutil.which("chromium") is not None and AXE.exists()
    if mark == "traced" and shutil.which("strace") is None:
        return False
    if mark not in {"sandbox", "traced"}:
        return all(stamp.exists() for stamp in STAMPS[mark])
    bwrap = shutil.which("bwrap")
    trial = [str(bwrap), "--ro-bind", "/", "/", "--unshare-all", "--size", "1", "--tmpfs", "/tmp"]
    return bwrap is not None and not subprocess.run([*trial, "true"], check=False).returncode


def pytest_collection_finish() -> None:
    """What was collected stays to the end: looking through it for garbage costs more than many a test."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True, scope="session")
def _own_state_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What tests accept of configurations is remembered for the run alone, not for the user who runs it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state-home")))
        yield


@pytest.fixture(autouse=True)
def _no_thread_is_stopped_while_measured() -> Iterator[None]:
    """Fails a test that would stop a thread while a tracer is set, where it might otherwise never end. What is still
    at work when the test's loop closes is left to end by itself."""
    if sys.gettrace() is None:
        yield
        return
    from gatewright.sdk import threads  # noqa: PLC0415 - only where something is measured

    send: Callable[[int, type[BaseException]], None] = vars(threads)["_raise_in"]
    spared: list[int] = []

    def raise_in(thread: int, problem: type[BaseException]) -> None:
        if sys.gettrace() is None:
            send(thread, problem)
        elif os.environ["PYTEST_CURRENT_TEST"].endswith("(call)"):
            spared.append(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threads, "_raise_in", raise_in)
        yield
    if spared:
        pytest.fail("mark it no_cover: it stops a thread while coverage is measured")


class _NothingSkipped:
    """Turns a run with a skipped or xfailed test into a failed run; says how many rows the tables had."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.rows: list[int] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":
            self.rows += [
                int(str(value)) for name, value in report.user_properties if name == _ROWS
            ]
        if report.skipped or hasattr(report, "wasxfail"):
            self.config.stash[_not_run].append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self.config.stash[_not_run].append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        CONNECTIONS.end(("class", "module", "package", "session"))
        if self.config.stash[_not_run] and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for nodeid in self.config.stash[_not_run]:
            terminalreporter.write_line(f"NOT RUN {nodeid}: a skipped test fails the run", red=True)
        if self.rows:
            line = f"{sum(self.rows)} rows were compared by {len(self.rows)} of the tests"
            terminalreporter.write_line(line)
        for mark, count in self.config.stash[_left_out].items():
            kind = mark.removesuffix("s")
            terminalreporter.write_line(f"{count} {kind} tests left out: {_FIRST[mark]}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as there are cores: a good part of a test is waiting for a process that it has started."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return cores + (cores + 1) // 2


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_newgateway(gateway: Any) -> None:
    """Remember the number of a process of xdist's, for `_end`."""
    _processes.append(gateway._rinfo().pid)


def _end(number: int, frame: FrameType | None) -> None:
    """End the run as Ctrl-C does: fixtures end what they have started. The processes of xdist are told too; without that each goes
    on with its tests for five seconds. `timeout` tells them as well: the same signal twice does not interrupt the fixtures."""
    now, before = time.monotonic(), _told_at[-1]
    _told_at.append(now)
    if now - before < _TWICE_S:
        return
    for pid in _processes:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
    raise KeyboardInterrupt(signal.Signals(number).name)


# A shell that starts the suite in the background has it ignore Ctrl-C, and every command that a test starts as well.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, _end)

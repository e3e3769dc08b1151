"""The run itself is honest: a skip fails it, and peer tests are left out only when they must be."""

from __future__ import annotations

import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.house_rules.own_run import DEADLINE_S, clean, project, run_of
from tests.house_rules.tree import ROOT

PYTEST = "pytest"  # so that a search for skipped tests does not find this file


@pytest.mark.parametrize(
    "test",
    [
        f"def test_a(): {PYTEST}.skip('later')",
        f"@{PYTEST}.mark.skip\ndef test_a(): pass",
        f"@{PYTEST}.mark.xfail\ndef test_a(): assert False",
        f"@{PYTEST}.mark.xfail\ndef test_a(): pass",
        f"{PYTEST}.skip('all', allow_module_level=True)\ndef test_a(): pass",
    ],
)
def test_a_run_with_a_skipped_test_in_it_fails(tmp_path: Path, test: str) -> None:
    run = run_of(tmp_path, f"{test}\ndef test_b(): pass\n")
    assert run.returncode != 0, run.stdout
    assert "NOT RUN" in run.stdout


def test_a_run_without_a_skip_passes_as_usual(tmp_path: Path) -> None:
    assert run_of(tmp_path, "def test_a(): pass\n").returncode == 0


def test_peer_tests_are_left_out_aloud_until_the_peers_are_installed(tmp_path: Path) -> None:
    run = run_of(tmp_path, "@pytest.mark.peers\ndef test_a(): assert False\ndef test_b(): pass\n")
    assert run.returncode == 0
    assert "1 peer tests left out: run `make peers` first" in run.stdout


def test_peer_tests_cannot_be_left_out_when_they_are_required(tmp_path: Path) -> None:
    run = run_of(tmp_path, "@pytest.mark.peers\ndef test_a(): assert False\n", "--require-peers")
    assert run.returncode == 1


FIRST = """
import os, sys
class First:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "gatewright":
            print(sys.dont_write_bytecode, "PYTHONDONTWRITEBYTECODE" in os.environ, flush=True)
            os._exit(0)
sys.meta_path.insert(0, First())
import tests.conftest
"""


def test_what_a_run_imports_is_compiled_once_where_the_user_has_python_write_nothing() -> None:
    """From the first module of the package on, which each process of a run would compile anew."""
    run = subprocess.run(
        [sys.executable, "-c", FIRST],
        cwd=ROOT,
        env=clean() | {"PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert (run.stdout, run.stderr) == ("False False\n", "")


ENDLESS = """
import pathlib, select
def test_a(begun):
    pathlib.Path("at_work").touch()
    try:
        select.select([], [], [], 100)
    except KeyboardInterrupt as problem:
        pathlib.Path("ended_by").write_text(str(problem))
        raise
@pytest.fixture
def begun():
    yield
    pathlib.Path("ended").touch()
"""


@pytest.mark.parametrize("options", [("-s",), ("-s", "-n", "1")])
def test_sigterm_ends_a_run_and_its_fixtures_end_what_they_have_started(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    at_work = tmp_path / "project" / "at_work"
    with subprocess.Popen(
        [*project(tmp_path, ENDLESS), *options],
        cwd=tmp_path / "project",
        env=clean(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        _appears(at_work, process)
        process.terminate()
        process.terminate()  # as `timeout` does, which tells the whole group
        assert process.wait(DEADLINE_S) != 0
    _appears(tmp_path / "project" / "ended")
    assert (tmp_path / "project" / "ended_by").read_text() == "SIGTERM"


def test_a_handler_of_sigterm_that_a_test_leaves_behind_is_its_error(tmp_path: Path) -> None:
    test = "import signal\ndef test_a(): signal.signal(signal.SIGTERM, lambda *a: None)\n"
    run = run_of(tmp_path, test + "def test_b(): pass\n")
    assert run.returncode == 1
    assert "it left a handler of SIGTERM behind" in run.stdout
    assert "2 passed, 1 error" in run.stdout


OPENS = """
import sqlite3
OF_A_MODULE = "kept.append(sqlite3.connect(':memory:'))"
@pytest.fixture(scope="module")
def shared():
    return sqlite3.connect(":memory:")
def test_a(shared):
    sqlite3.connect(":memory:")
    shared.execute("SELECT 1")
def test_b(shared):
    kept = []
    exec(compile(OF_A_MODULE, "/src/gateway.py", "exec"))
    assert len(kept) == 1
    shared.execute("SELECT 1")
def test_c(): pass
"""


def test_a_connection_that_a_module_leaves_open_is_the_error_of_the_test_that_had_it_opened(
    tmp_path: Path,
) -> None:
    run = run_of(tmp_path, OPENS)
    assert "it left connections to SQLite open: ['/src/gateway.py:1']" in run.stdout
    assert "ERROR tests/test_it.py::test_b" in run.stdout
    assert "3 passed, 1 error" in run.stdout


def _appears(path: Path, process: subprocess.Popen[bytes] | None = None) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not path.exists():
        assert time.monotonic() < deadline
        assert process is None or process.poll() is None
        select.select([], [], [], 0.01)


STOPS = """
import asyncio, threading
from gatewright.sdk.threads import run_in_thread
begun, go_on = threading.Event(), threading.Event()
async def stop():
    work = asyncio.ensure_future(run_in_thread(lambda: (begun.set(), go_on.wait(60))))
    assert await asyncio.to_thread(begun.wait, 60)
    work.cancel()
    await asyncio.wait([work])
    go_on.set()
"""


@pytest.mark.parametrize("processes", [("-p", "no:xdist"), ("-n", "1")])
def test_a_test_that_stops_a_thread_says_that_it_cannot_be_measured(
    tmp_path: Path, processes: tuple[str, ...]
) -> None:
    stops = "def test_a(): asyncio.run(stop())\n"
    measured = ("--cov=gatewright", "--cov-report=", *processes)
    run = run_of(tmp_path / "unsaid", STOPS + stops, *measured)
    assert run.returncode == 1, run.stdout + run.stderr
    assert "mark it no_cover: it stops a thread" in run.stdout
    marked = f"{STOPS}@{PYTEST}.mark.no_cover\n{stops}"
    run = run_of(tmp_path / "said", marked, *measured)
    assert run.returncode == 0, run.stdout + run.stderr
    assert run_of(tmp_path / "unmeasured", STOPS + stops, *processes).returncode == 0


def test_a_step_of_the_whole_run_is_a_program_with_a_deadline_or_a_function(tmp_path: Path) -> None:
    script = f"""
    set -uo pipefail
    out='{tmp_path}'; failed=()
    eval "$(sed -n '/^step() {{/,/^}}/p' '{ROOT}/.ci/run')"
    fine() {{ echo inside; }}
    bad() {{ return 3; }}
    step one 9 fine; step two 9 bad; step three 9 echo outside; step four 1 sh -c 'sleep 5; exit 1'
    echo "failed: ${{failed[*]}}"
    """
    run = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    assert run.stdout.endswith("failed: two four\n"), run.stdout + run.stderr
    assert (tmp_path / "one.log").read_text() == "inside\n"
    assert (tmp_path / "three.log").read_text() == "outside\n"


def _second_python(folder: Path, path: str) -> str:
    """What `.ci/run` finds in a project that claims 3.11 to 3.13, with these Pythons on the PATH and in pyenv's folder."""
    claims = "".join(f'"Programming Language :: Python :: 3.{one}",\n' for one in (11, 12, 13))
    (folder / "pyproject.toml").write_text(claims, encoding="utf-8")
    script = f"eval \"$(sed -n '/^second_python() {{/,/^}}/p' '{ROOT}/.ci/run')\"; second_python"
    run = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={"PATH": f"{path}:/usr/bin:/bin", "PYENV_ROOT": str(folder / "pyenv"), "HOME": "/"},
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )
    assert run.returncode == (0 if run.stdout else 1), run.stderr
    return run.stdout.rstrip()


def _python(at: Path, version: str, path: str) -> None:
    """A program that takes part in the search for a Python of this version."""
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_text(
        f'#!/bin/sh\nfor last; do :; done\ncase "$last" in\n{version}) echo {version} {path} ;;\n'
        f"import*) echo {version} ;;\n*) exit 1 ;;\nesac\n",
        encoding="utf-8",
    )
    at.chmod(0o755)


def test_the_second_python_is_the_newest_that_is_claimed_and_not_the_first(tmp_path: Path) -> None:
    _python(tmp_path / ".venv" / "bin" / "python", "3.13", "first")
    _python(tmp_path / "bin" / "python3.13", "3.13", "the first again")
    _python(tmp_path / "bin" / "python3.12", "3.11", "one that is another than its name says")
    _python(tmp_path / "pyenv" / "versions" / "3.12.9" / "bin" / "python", "3.12", "of pyenv")
    assert _second_python(tmp_path, str(tmp_path / "bin")) == "3.12 of pyenv"
    _python(tmp_path / ".venv" / "bin" / "python", "3.11", "first")
    assert _second_python(tmp_path, str(tmp_path / "bin")) == "3.13 the first again"


@pytest.mark.parametrize(("count", "failed"), [(8, ""), (9, "test")])
def test_a_few_tests_that_failed_are_run_once_more_and_named(
    tmp_path: Path, count: int, failed: str
) -> None:
    (tmp_path / "test.log").write_text(
        "".join(f"FAILED tests/a.py::{n} - no\n" for n in range(count))
    )
    script = f"""
    set -uo pipefail
    out='{tmp_path}'; failed=(test); closing=()
    for one in step close_with uncounted again; do eval "$(sed -n "/^$one() {{/,/^}}/p" '{ROOT}/.ci/run')"; done
    again test 9 echo '1 passed in 0.1s'
    printf '%s\n' "${{closing[@]}}" "failed: ${{failed[*]}}"
    """
    run = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, timeout=DEADLINE_S
    )
    assert run.stdout.endswith(f"failed: {failed}\n"), run.stdout + run.stderr
    assert run.stdout.count("UNSTABLE") == (0 if failed else count)

"""Every kind of test runs in `.ci/run`, and a run says of each how it ended."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house_rules.tree import ROOT

DEADLINE_S = 120.0
KINDS = {
    "end to end": (
        "behaviour/test_whole.py",
        "behaviour/test_ggen.py",
        "behaviour/test_first_hour.py",
    ),
    "performance": (
        "behaviour/test_service_levels.py",
        "behaviour/test_service_levels_served.py",
        "benchmarks/test_slo.py",
        "house_rules/test_costs.py",
    ),
    "security": (
        "behaviour/test_hostile.py",
        "behaviour/test_authorisation.py",
        "behaviour/test_isolation_probes.py",
        "behaviour/test_canaries.py",
    ),
    "load": ("behaviour/test_faults_crowds.py", "behaviour/test_two_sided.py"),
}
"""Some files of each kind; there are more."""
STEPS = (
    "test",
    "walked",
    "shadowed",
    "peers",
    "peer-tests",
    "browser",
    "check",
    "conformance",
    "conformance-sdk",
)
"""What every run does, in this order."""
_SAYS = """#!/bin/sh
said="$0 $*${PREPARED_CALLS:+ $PREPARED_CALLS}"
echo "$said" >>"$CALLS"
case "$said|" in *"$FAILS"*) echo "1 failed, 2 passed in 1.00s"; exit 1 ;; esac
echo "3 passed in 1.00s"
"""
_FAILS = {
    "": "nothing",
    "test": "make test TESTS=-m",
    "walked": "browser' off|",
    "shadowed": "browser' shadowed|",
    "peers": "make peers",
    "peer-tests": "-m peers --require-peers",
    "browser": "pytest tests/console/browser",
    "check": "check quick",
    "conformance": "make conformance|",
    "conformance-sdk": "make conformance CONFORMANCE=--sdk",
}
"""Step → by what its command is told apart."""


def _run(folder: Path, fails: str) -> tuple[int, str, list[str]]:
    """A run whose commands only say how they ended: its status, what it says, and what it ran."""
    (folder / "bin").mkdir()
    for name in (".ci", "scripts", ".venv/bin"):
        (folder / name).mkdir(parents=True)
    shutil.copy(ROOT / ".ci" / "run", folder / ".ci")
    commands = [
        f"bin/{name}" for name in ("make", "npm", "curl", "python3", "bwrap", "strace", "chromium")
    ]
    for name in (*commands, "scripts/check", ".venv/bin/python"):
        (folder / name).write_text(_SAYS, encoding="ascii")
        (folder / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
        "CALLS": str(folder / "calls"),
        "FAILS": _FAILS[fails],
    }
    environment.pop("PREPARED_CALLS", None)
    done = subprocess.run(
        ["bash", str(folder / ".ci" / "run")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    calls = (folder / "calls").read_text().replace(f"{folder}/", "").splitlines()
    return done.returncode, done.stdout, calls


def test_a_run_of_ci_goes_through_every_step_and_says_how_pytest_closed(tmp_path: Path) -> None:
    """GGEN-p4-6."""
    status, said, calls = _run(tmp_path, "")
    assert status == 0, said
    begun = [line.split()[1].rstrip(":") for line in said.splitlines() if line.startswith("=== ")]
    assert tuple(dict.fromkeys(one for one in begun if one in STEPS)) == STEPS
    for name in ("test", "walked", "shadowed", "peer-tests", "browser"):
        assert f"{name}: 3 passed in 1.00s" in said
    assert said.splitlines()[-1].startswith("ci: ok")
    for name, words in _FAILS.items():
        if name:
            assert [one for one in calls if words in f"{one}|"], name


@pytest.mark.parametrize("name", STEPS)
def test_a_step_that_fails_is_named_and_fails_the_run(tmp_path: Path, name: str) -> None:
    """GGEN-p4-6: none is left out for it, but those that need what it installs."""
    status, said, _ = _run(tmp_path, name)
    assert status == 1
    assert said.splitlines()[-1].startswith(f"ci: FAILED {name} after ")
    later = STEPS[STEPS.index(name) + 1 :]
    if name == "peers":
        later = later[2:]
    assert [one for one in later if f"=== {one}: ok" not in said] == []


@pytest.mark.parametrize("kind", KINDS)
def test_tests_of_each_kind_are_among_those_that_ci_runs(kind: str) -> None:
    """GGEN-p4-6: collected with the very words of its steps, so that no marker leaves a kind of them out."""
    words = (ROOT / ".ci" / "run").read_text(encoding="utf-8").split()
    text = " ".join(one for one in words if not one.isdigit())  # whatever time each has
    assert (
        """step test make test TESTS="-m 'not peers and not browser' --require-sandbox --require-traced --durations=60 """
        in text
    )
    assert "-m peers --require-peers) if ! step peer-tests" in text
    files = [str(ROOT / "tests" / one) for one in KINDS[kind]]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, "-m", "not peers and not browser", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    found = {line.split("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert found == {f"tests/{one}" for one in KINDS[kind]}


def test_every_test_that_talks_to_peers_is_in_a_folder_that_ci_runs_with_them() -> None:
    """Elsewhere the whole suite would be collected for a few hundred tests."""
    text = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (line,) = (one for one in text.splitlines() if "foreign=(" in one)
    folders = [ROOT / one for one in line.split() if one.startswith("tests/")]
    marked = [
        file
        for file in (ROOT / "tests").rglob("test_*.py")
        if re.search(
            r"^(pytestmark = \[?|@)pytest\.mark\.peers", file.read_text("utf-8"), re.MULTILINE
        )
    ]
    assert len(marked) >= 10
    assert [file for file in marked if not any(one in file.parents for one in folders)] == []

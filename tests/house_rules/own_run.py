"""A small project with the conftest of this one, and runs of pytest over it, for tests of what a run does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.house_rules.tree import ROOT

__all__ = ["DEADLINE_S", "clean", "project", "run_of"]

DEADLINE_S = 150.0
_MEASURED = "[run]\nparallel = true\npatch = subprocess\n"


def run_of(folder: Path, test: str, *options: str) -> subprocess.CompletedProcess[str]:
    """How a run of pytest over this test ends, with our conftest."""
    return subprocess.run(
        [*project(folder, test), *options],
        cwd=folder / "project",
        env=clean(),
        capture_output=True,
        text=True,
        check=False,
        timeout=DEADLINE_S,
    )


def project(folder: Path, test: str) -> list[str]:
    """The command that runs a project of this test, with our conftest."""
    inside = folder / "project" / "tests"
    inside.mkdir(parents=True)
    for name in ("conftest.py", "connections.py"):
        shutil.copy(ROOT / "tests" / name, inside)
    (inside / "test_it.py").write_text(f"import pytest\n{test}", encoding="utf-8")
    (inside.parent / "pytest.ini").write_text("[pytest]\nmarkers = peers: x\n", encoding="utf-8")
    (inside.parent / ".coveragerc").write_text(_MEASURED, encoding="utf-8")
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def clean() -> dict[str, str]:
    """The environment without this run's own words, and with the folder in which our conftest finds `tests.cli`."""
    inherited = ("PYTEST", "COVERAGE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(inherited)}
    return kept | {"PYTHONPATH": str(ROOT)}

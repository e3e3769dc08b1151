"""A migration that dies at any of its steps leaves the old form or the new one, whole; the next one goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from tests.storage.former_folders import ALL

ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.mark.parametrize("which", ALL)
def test_whatever_step_it_dies_at_nothing_is_half(tmp_path: Path, which: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.storage.crash", str(tmp_path), which],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    left = json.loads(done.stdout)
    assert [word for word, _ in groupby(left)] == ["old", "new, files to rename", "new"]
    assert left.count("old") > 100
    assert left.count("new, files to rename") >= 7

"""The examples pass pyright's strict mode, as a tool author's editor would run it (mypy's is part of scripts/check)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.behaviour.gateway import ROOT

pytestmark = [pytest.mark.peers, pytest.mark.timeout(300)]


def pyright(*arguments: str) -> dict[str, int]:
    command = [str(Path(sys.executable).parent / "pyright"), "--outputjson"]
    done = subprocess.run(
        [*command, "--pythonpath", sys.executable, *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    summary: dict[str, int] = json.loads(done.stdout)["summary"]
    return summary


def test_the_examples_pass_the_strict_mode_and_a_bad_one_would_not(tmp_path: Path) -> None:
    """CDM-test-1: a typed API; an option that does not exist and an untyped function are found."""
    found = pyright("-p", "pyproject.toml")
    assert found["filesAnalyzed"] == len([*(ROOT / "examples").rglob("*.py")])
    assert (found["errorCount"], found["warningCount"]) == (0, 0)
    bad = tmp_path / "bad.py"
    bad.write_text(
        "# pyright: strict\nfrom gatewright.sdk import mcp_tool\n"
        "@mcp_tool(destructiv=True)\ndef f(a: int) -> int:\n    return a\n"
    )
    assert pyright(str(bad))["errorCount"] >= 1

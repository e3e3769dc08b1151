"""Inert probes from inside a sandbox, at each level, as root and as an ordinary user: none of what they try is possible."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.transport.isolation.inside import HELD

ROOT = Path(__file__).resolve().parents[2]
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)
AS = [(user, level) for user in USERS for level in ("strict", "confined")]

pytestmark = [pytest.mark.sandbox, pytest.mark.parametrize(("user", "level"), AS)]


def run(user: str, level: str) -> dict[str, Any]:
    order = json.dumps({"user": user, "level": level})
    command = [sys.executable, "-m", "tests.transport.isolation.driver", order]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=200, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert "flaw" not in found, found["flaw"]
    return found


def test_nothing_that_a_server_must_not_do_can_be_done_and_nothing_is_left(
    user: str, level: str
) -> None:
    """GRH-reg-7"""
    found = run(user, level)
    tried = found["found"]
    assert {name: said for name, said in tried.items() if said != HELD} == {}
    assert len(tried) == (38 if level == "strict" else 35)
    assert found["after"] == found["before"]
    assert found["after"]["processes"] == []

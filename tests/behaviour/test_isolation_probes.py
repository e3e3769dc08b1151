"""Inert probes from inside a sandbox, at each level, as root and as an ordinary user: none of what they try is possible."""

from __future__ import annotations

import json
import logging
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.transport.isolation.inside import HELD

log = logging.getLogger(__name__)

STARTS = int(os.environ.get("GATEWRIGHT_STARTS", "25"))
"""A thousand in a night."""
START_MS = 150.0
"""The 99th of a hundred on a machine that has nothing else to do; on others it is what isolation adds at the median."""
ROOT = Path(__file__).resolve().parents[2]
USERS = ("root", "ordinary") if os.geteuid() == 0 else ("ordinary",)
AS = [(user, level) for user in USERS for level in ("strict", "confined")]

pytestmark = [pytest.mark.sandbox, pytest.mark.parametrize(("user", "level"), AS)]


def run(user: str, level: str, timeout: float = 200, **more: Any) -> dict[str, Any]:
    order = json.dumps({"user": user, "level": level, **more})
    command = [sys.executable, "-m", "tests.transport.isolation.driver", order]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, timeout=timeout, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert "flaw" not in found, found["flaw"]
    return found


def test_nothing_that_a_server_must_not_do_can_be_done_and_nothing_is_left(
    user: str, level: str
) -> None:
    """GRH-reg-7 and fault test 24."""
    found = run(user, level)
    tried = found["found"]
    assert {name: said for name, said in tried.items() if said != HELD} == {}
    assert len(tried) == (38 if level == "strict" else 35)
    assert found["after"] == found["before"]
    assert found["after"]["processes"] == []


def test_starting_and_stopping_again_and_again_leaves_nothing(user: str, level: str) -> None:
    """Fault test 25: no control group, mount, process or descriptor more than after the first."""
    found = run(user, level, timeout=100 + STARTS, cycles=STARTS)
    took = found["took_ms"]
    p99 = statistics.quantiles(took, n=100)[98]
    log.info(f"{user}, {level}: {len(took)} starts, {statistics.median(took):.1f} ms to the first answer, p99 {p99:.1f} ms")  # fmt: skip
    assert len(took) == STARTS
    assert found["after"] == found["before"]
    assert (found["after"]["groups"], found["after"]["processes"]) == ([], [])
    assert statistics.median(took) <= START_MS + statistics.median(found["plain_ms"])

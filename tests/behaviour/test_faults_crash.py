"""Fault test 2: the gateway ends at each named point of a call, and its record says no less than what happened."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.parts import a_call, a_log, records, run, verified
from tests.behaviour.crashing import POINTS
from tests.behaviour.gateway import ROOT


def _crashed(folder: Path, sync: str, point: str, last: int) -> list[str]:
    """The calls that were answered before the process ended there."""
    command = [
        sys.executable,
        "-m",
        "tests.behaviour.crashing",
        str(folder),
        sync,
        point,
        str(last),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert done.returncode == 9, done.stderr.decode()
    return done.stdout.decode().split()


@pytest.mark.parametrize(("sync", "last"), [("process", 7), ("always", 6)])
@pytest.mark.parametrize("point", POINTS)
async def test_no_answered_call_lacks_its_record_and_no_executed_one_its_intent(
    tmp_path: Path, point: str, sync: str, last: int
) -> None:
    """Exhaustive over the points: 0 acknowledged calls without a record, 0 executed ones without an intent or an end, 0 torn records, and the
    next start goes on. Call 7 is of a dangerous tool, call 6 of a moderate one."""
    answered = _crashed(tmp_path, sync, point, last)
    executed = (tmp_path / "executed").read_text().split()
    log = a_log(tmp_path)  # the next start
    run(log, a_call(1000))
    await log.close()
    found = verified(tmp_path)
    assert (found.problem, found.unfinished) == (None, 0)
    ended = {one["call"] for one in records(tmp_path, event_type="TOOL_EXECUTED")}
    begun = {one["call"] for one in records(tmp_path, outcome="pending")}
    assert set(answered) == {f"call-{number}" for number in range(1, last)}
    assert set(answered) <= ended
    assert set(executed) <= begun | ended
    assert {f"call-{number}" for number in range(1, last, 2)} <= begun  # of the dangerous tool
    assert {f"call-{number}" for number in range(2, last, 2)}.isdisjoint(begun)
    assert (f"call-{last}" in executed) is (POINTS.index(point) > 2)
    assert (f"call-{last}" in ended) is (POINTS.index(point) > 5)

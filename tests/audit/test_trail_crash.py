"""`kill -9` at random moments of a real process: nothing that was answered is missing."""

from __future__ import annotations

import os
import random
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.audit.parts import fill, records, verified

ROUNDS = 10


def _until_killed(folder: Path, sync: str, first: int, seconds: float) -> list[int]:
    """Start a writer, kill it `seconds` after it is ready; the calls that it had answered."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.audit.writer", str(folder), sync, str(first)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        bufsize=0,
    ) as writer:
        assert writer.stdout is not None
        ready, _, _ = select.select([writer.stdout], [], [], 30)
        assert ready, "the writer did not start"
        output = os.read(writer.stdout.fileno(), 65_536)
        assert output.startswith(b"ready\n")
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([writer.stdout], [], [], left)[0]:
                output += os.read(writer.stdout.fileno(), 65_536)
        writer.kill()
        output += writer.stdout.read()
        assert writer.wait(20) == -9
    lines = output.split(b"\n")[1:-1]  # a number cut short was not seen whole by anybody
    return [int(line) for line in lines]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("sync", ["process", "always"])
async def test_no_answered_call_is_missing_after_kill_nine_at_random_moments(
    tmp_path: Path, sync: str
) -> None:
    generator = random.Random(sync)
    answered: list[int] = []
    for number in range(ROUNDS):
        pause = generator.uniform(0.0, 0.2)
        answered += _until_killed(tmp_path, sync, number * 1_000_000, pause)
        found = verified(tmp_path)
        assert found.problem is None, number
    assert len(answered) > ROUNDS
    ended = {each["call"] for each in records(tmp_path, event_type="TOOL_EXECUTED")}
    assert [each for each in answered if f"call-{each}" not in ended] == []
    begun = {each["call"] for each in records(tmp_path, outcome="pending")}
    assert {call for call in ended if call.endswith("0")} <= begun  # those of the dangerous tool
    await fill(tmp_path, 2)  # a gateway starts on what is left, and the chain goes on
    assert {each["call"] for each in records(tmp_path, outcome="pending")} == begun | {"call-0"}
    new = records(tmp_path)[found.records :]
    left = [each for each in new if each["event_type"] != "dev.gatewright.audit.torn"]
    assert [each["outcome"] for each in left[:-2]] == ["pending"] * (len(left) - 2)
    assert verified(tmp_path).records == found.records + len(new)

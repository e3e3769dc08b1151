"""One rolling restart under load, and forty stops and starts; the benchmark itself does six and a thousand."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from benchmarks.lifecycle import SERVERS, cycles, rolling

CYCLES = 40


def test_no_call_is_lost_while_one_server_after_the_other_is_restarted(tmp_path: Path) -> None:
    with ExitStack() as stack:
        found = rolling(tmp_path, stack, 1, quiet_s=0.5)
    assert found.lost == []
    assert found.restarts == SERVERS
    assert found.answered > 100


def test_nothing_is_left_of_servers_that_were_stopped_and_started(tmp_path: Path) -> None:
    with ExitStack() as stack:
        found = cycles(tmp_path, stack, CYCLES)
    assert found.count == CYCLES
    assert (found.children, found.zombies) == (1, 0)
    assert found.more_descriptors <= 0
    assert found.growth_mb < 16.0

"""date, sleep, seq, ping, vmstat, ps, top, sysctl, ip."""

import pytest

from gatewright.validators.sandbox import prepare

INSPECT = prepare({"allow": ["inspect"]})
NETWORKED = prepare({"allow": ["inspect", "network"]})


@pytest.mark.parametrize("line", ["date +%s", "date -d tomorrow", "sleep 2", "seq 10", "vmstat 1 5", "ps aux", "ps -ef", "top -b -n 1", "sysctl kernel.x", "ip addr show"])  # fmt: skip
def test_what_shows_and_ends_passes(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize("line", ["date 01010000", "date -s x", "sleep 1h", "seq inf", "vmstat 1", "ps aux e", "ps eww", "ps -o environ", "top -b", "sysctl kernel.x=1", "ip link set x up"])  # fmt: skip
def test_what_sets_shows_variables_or_goes_on_does_not(line: str) -> None:
    assert INSPECT.judge(line) is not None


def test_a_ping_has_a_count() -> None:
    assert NETWORKED.judge("ping -c 1 x.example") is None
    assert NETWORKED.judge("ping x.example") is not None

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


IP = {
    "addr": "add change chg replace delete show lst list flush save showdump restore",
    "link": "add set change replace delete afstats xstats property show lst list help",
    "route": "list show lst get add change chg replace prepend append test delete flush save restore showdump",
    "neigh": "add change chg replace delete get show lst list flush",
    "rule": "list lst show save restore add delete flush",
    "maddr": "add delete list show lst",
    "mroute": "list lst show",
    "tunnel": "add change replace delete show lst list prl 6rd",
}
"""Object → its commands, in the order in which `ip` of iproute2 (6.x) asks whether a word is the beginning of one of them."""
IP_READS = frozenset("show lst list get save showdump afstats xstats help".split())


@pytest.mark.parametrize("name", IP)
def test_each_abbreviation_for_ip_that_passes_means_what_reads(name: str) -> None:
    commands = IP[name].split()
    for verb in {one[:end] for one in commands for end in range(1, len(one) + 1)}:
        if INSPECT.judge(f"ip {name} {verb} x") is None:
            meant = {one for one in commands if one.startswith(verb)}
            assert meant <= IP_READS, verb
    assert INSPECT.judge(f"ip {name} show x") is None

"""What commands need besides the files that they name; nothing that needs it passes where it is not given."""

from __future__ import annotations

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell_capabilities import needs
from gatewright.validators.shell_readers import CAPABILITIES, READERS
from gatewright.validators.shell_syntax import Word

NEEDING = {
    "network": ["ping -c 1 x", "dig x", "whois x", "git remote show origin", "npm view x", "pip list -o", "getent hosts x", "xmllint http://x/a",
                "time dig x", "resolvectl query x", "kubectl get pods"],
    "environment": ["env", "printenv HOME", "ps aux e", "ps eww", "ps -o environ", "jq -n env", "jq -n '$ENV'", "awk 'BEGIN{print ENVIRON[\"A\"]}'",
                    "env LANG=C printenv", "history", "systemctl show x"],
    "endless": ["yes", "tail -f x", "tail -n5F x", "ping x", "vmstat 1", "top -b", "sleep 1h", "cat /dev/zero", "journalctl -f", "docker logs -f x",
                "seq inf", "awk 'BEGIN{while(1)x++}'", "less +F x", "kubectl get pods -w"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("capability", "line"), [(name, line) for name, lines in NEEDING.items() for line in lines]
)
def test_what_needs_a_capability_passes_only_with_it(capability: str, line: str) -> None:
    refused = prepare({"allow": ["inspect"]}).judge(line)
    assert refused is not None
    assert refused.rule in CAPABILITIES
    assert prepare({"allow": ["reads", *sorted(CAPABILITIES - {"recursive"})]}).judge(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "timeout 5 tail -f x",
        "ping_x",
        "head -c 16 /dev/urandom",
        "vmstat 1 5",
        "top -b -n 1",
        "sleep 2",
        "ps aux",
        "ps -ef",
        "jq .env x",
        "seq 10",
    ],
)
def test_what_ends_and_shows_no_variables_needs_none(line: str) -> None:
    assert needs([Word(one) for one in line.split()]) == frozenset()


def test_each_program_of_the_table_that_needs_something_is_refused_without_it() -> None:
    judge = prepare({"allow": ["inspect"]})
    for name in (name for name, known in READERS.items() if known.needs and "." not in name):
        assert judge.judge(f"{name} x") is not None, name

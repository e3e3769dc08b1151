"""Whole lines under the presets `inspect` and `develop`: each part is judged, with what the line has done before it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from gatewright.validators.sandbox import prepare

INSPECT = prepare({"allow": ["inspect"]})
DEVELOP = prepare({"allow": ["develop"]})

_SAID = tomllib.loads(Path(__file__).with_name("preset_lines.toml").read_text("utf-8"))
READING, NEVER, OUTSIDE = _SAID["reading"], _SAID["never"], _SAID["outside"]
WORKING = [*READING, *_SAID["working"]]


@pytest.mark.parametrize("line", READING)
def test_what_reads_passes_inspect(line: str) -> None:
    assert INSPECT.judge(line) is None


@pytest.mark.parametrize("line", WORKING)
def test_what_works_inside_passes_develop(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", [*NEVER, *OUTSIDE, *WORKING[len(READING) :]])
def test_nothing_else_passes_inspect(line: str) -> None:
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", [*NEVER, *OUTSIDE])
def test_what_leads_outside_is_refused_by_develop(line: str) -> None:
    assert DEVELOP.judge(line) is not None


@pytest.mark.parametrize("line", NEVER)
@pytest.mark.parametrize("before", ["ls; ", "ls && ", "ls || ", "! ", "cd src && ", "ls | cat; "])
def test_no_place_on_a_line_hides_a_command(before: str, line: str) -> None:
    assert DEVELOP.judge(before + line) is not None
    assert INSPECT.judge(before + line) is not None


def test_words_are_judged_as_one_command() -> None:
    assert INSPECT.judge(["cat", "a;b"]) is None
    assert INSPECT.judge(["cat", "/etc/shadow"]) is not None
    assert INSPECT.judge(["ls; rm x"]) is not None


@pytest.mark.parametrize(
    "line", ["PYTHONPATH=. pip list", "git -C /srv/x status", "time git -C ../x status"]
)
def test_what_reads_code_or_settings_from_elsewhere_is_no_inspection(line: str) -> None:
    """MGP-4.5"""
    assert INSPECT.judge(line) is not None


@pytest.mark.parametrize("line", _SAID["single"])
def test_one_command_that_works_inside_passes_develop(line: str) -> None:
    assert DEVELOP.judge(line) is None


@pytest.mark.parametrize("line", _SAID["single_refused"])
def test_one_command_that_leads_outside_is_refused_by_develop(line: str) -> None:
    """MGP-4.5"""
    assert DEVELOP.judge(line) is not None


NEEDING = {
    "network": ["ping -c 1 x", "dig x", "whois x", "git remote show origin", "npm view x", "pip list -o", "getent hosts x", "xmllint http://x/a",
                "time dig x", "resolvectl query x", "kubectl get pods"],
    "environment": ["env", "printenv HOME", "ps aux e", "ps eww", "ps -o environ", "jq -n env", "jq -n '$ENV'", "awk 'BEGIN{print ENVIRON[\"A\"]}'",
                    "env LANG=C printenv", "history", "systemctl show x"],
    "endless": ["yes", "tail -f x", "ping x", "vmstat 1", "top -b", "sleep 1h", "cat /dev/zero", "journalctl -f", "docker logs -f x",
                "seq inf", "awk 'BEGIN{while(1)x++}'", "less +F x", "kubectl get pods -w"],
}  # fmt: skip
CAPABILITIES = frozenset(NEEDING)


@pytest.mark.parametrize(
    ("capability", "line"), [(name, line) for name, lines in NEEDING.items() for line in lines]
)
def test_what_needs_a_capability_passes_only_with_it(capability: str, line: str) -> None:
    refused = INSPECT.judge(line)
    assert refused is not None
    assert refused.rule in CAPABILITIES
    assert prepare({"allow": ["reads", *sorted(CAPABILITIES)]}).judge(line) is None


@pytest.mark.parametrize(
    "line",
    [
        "timeout 5 tail -f x",
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
    assert INSPECT.judge(line) is None

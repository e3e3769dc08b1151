"""Options that are known to read, as a program would take them."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_known import options_known
from gatewright.validators.shell_readers import READERS


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("head", "-n 5 f"),
        ("head", "-n -5 f"),
        ("head", "-20 f"),
        ("grep", "-e -> f"),
        ("grep", "-- -anything"),
        ("grep", "-A3 -B 2 --color=auto x"),
        ("jq", "--arg a b .x"),
        ("wc", "--files0-from=-"),
        ("sort", "-t - -k 2"),
        ("xmllint", "--noout -xpath //a f"),
    ],
)
def test_what_only_reads_is_known(program: str, line: str) -> None:
    assert options_known(READERS[program], line.split())


@pytest.mark.parametrize(
    ("program", "line"),
    [
        ("head", "--line=5"),
        ("head", "--quiet=yes"),
        ("wc", "--files0-from=f"),
        ("wc", "--files0-from -"),
        ("grep", "-e --output=f"),
        ("grep", "-e -- --output"),
        ("sort", "-k --output=f"),
        ("cat", "-nZ"),
        ("git.log", "--output=f"),
        ("git.log", "--stdin"),
    ],
)
def test_what_is_not_known_is_none(program: str, line: str) -> None:
    assert not options_known(READERS[program], line.split())

"""Where listed files lie, and whether a name chooses among them."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_found import (
    DELETING,
    chooses_by_name,
    find_roots,
    lists_all,
    lists_elsewhere,
)


@pytest.mark.parametrize(
    ("line", "roots"),
    [
        ("-L / -name x", ["/"]),
        ("-P -O3 -D all a b -type f", ["a", "b"]),
        ("-name x", []),
        (". ! -name x", ["."]),
    ],
)
def test_roots_stand_behind_options(line: str, roots: list[str]) -> None:
    assert find_roots(line.split()) == roots


@pytest.mark.parametrize(
    ("line", "chooses"),
    [
        ("-name *.pyc", True),
        ("( -name *.pyc -o -name *.pyo )", True),
        ("-not -path ./a/* -name *.pyc", True),
        ("-type d -empty", True),
        ("-type f", False),
        ("-name *", False),
        ("-name ?", False),
        ("! -name x.py", False),
        ("! ( -name x.py )", False),
        ("-name x.py -o -type f", False),
        ("-name x.py , -type f", False),
    ],
)
def test_a_name_chooses(line: str, *, chooses: bool) -> None:
    assert chooses_by_name(line.split()) is chooses
    assert lists_all(["find", ".", *line.split()]) is not chooses


@pytest.mark.parametrize(
    "line", ["find -L ../x", "ls -d ../*", "ls /srv", "grep -l x /srv/a", "rg -l -e x ../a"]
)
def test_what_is_outside_is_listed_from_elsewhere(line: str) -> None:
    assert lists_elsewhere(line.split())


@pytest.mark.parametrize("line", ["find . -type f", "ls", "grep -rl /api src", "git ls-files"])
def test_what_is_inside_is_not(line: str) -> None:
    assert not lists_elsewhere(line.split())


def test_a_folder_is_not_all() -> None:
    assert "rm" in DELETING
    assert not lists_all(["find", "build", "-type", "f"])
    assert not lists_all(["git", "ls-files", "-d"])
    assert lists_all(["git", "ls-files"])
    assert lists_all(["ls"])

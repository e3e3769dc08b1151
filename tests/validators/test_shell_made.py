"""What a line has made is not run by it."""

from __future__ import annotations

import pytest

from gatewright.validators.shell_made import made_rule, note_made, note_written
from gatewright.validators.shell_syntax import Word


def rule(line: str, made: set[str]) -> str | None:
    words = [Word(one) for one in line.split()]
    return made_rule(words[0].text, words, made)


def test_a_file_is_kept_by_its_path_and_its_name() -> None:
    made: set[str] = set()
    note_made(made, "./d/x.py")
    assert made == {"d/x.py", "x.py"}


@pytest.mark.parametrize("line", ["make", "pytest", "./x", "npm test", "gcc a.c", "pip install a"])
def test_what_may_run_it_waits(line: str) -> None:
    assert rule(line, {"x.txt"}) == "program_name"
    assert rule(line, {"x.log"}) is None
    assert rule(line, set()) is None


@pytest.mark.parametrize("line", ["cat x.txt", "git add x.txt", "rm x.txt", "grep -n a x.txt"])
def test_what_reads_passes(line: str) -> None:
    assert rule(line, {"x.txt"}) is None


def test_a_log_is_not_named_by_a_runner() -> None:
    assert rule("pip install -r x.log", {"x.log"}) == "program_name"
    assert rule("pip install -rx.log", {"x.log"}) == "program_name"


def test_what_is_moved_is_made() -> None:
    made = {"x.log"}
    note_written("mv", ["x.log", "x.py"], made)
    assert rule("make", made) == "program_name"
    made = set()
    note_written("mv", ["a", "b"], made)
    note_written("tee", ["-a", "/dev/null"], made)
    assert made == set()
    note_written("tee", ["-a", "x"], made)
    assert made == {"x"}

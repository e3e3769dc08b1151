"""A second reading of the table, written for itself, judges commands as the interpreter does."""

import pytest

from tests.shell_differences import PRESETS, differences
from tests.shell_reading import Unread
from tests.shell_table import programs
from tests.shell_verdicts import allows

LINES = 3000
"""`python -m tests.shell_differences` takes 500,000."""


def test_both_readings_say_the_same() -> None:
    """MGP-4.5"""
    judged = [0, 0]
    assert list(differences(LINES, 19, judged)) == []
    assert judged[0] > LINES * len(PRESETS) * 0.8
    assert judged[1] > judged[0] // 5


@pytest.mark.parametrize(
    ("line", "inspect", "develop"),
    [
        ("sort a.txt", True, True),
        ("sort -o x a.txt", False, True),
        ("sort -o ../x a.txt", False, False),
        ("cat ~/.ssh/id_rsa", False, False),
        ("rm x", False, True),
        ("rm .", False, False),
        ("git log -1 x", True, True),
        ("git --no-pager log", True, True),
        ("git log --unheard", False, False),
        ("cargo test", False, True),
        ("timeout 5 cat a.txt", True, True),
        ("tail -f x", False, True),
        ("timeout 5 tail -f x", True, True),
    ],
)
def test_the_second_reading_reads(line: str, inspect: bool, develop: bool) -> None:
    known = programs()
    assert allows(known, line.split(), "inspect") == inspect
    assert allows(known, line.split(), "develop") == develop


def test_of_programs_with_a_reader_of_their_own_it_says_nothing() -> None:
    with pytest.raises(Unread):
        allows(programs(), ["find", "."], "inspect")

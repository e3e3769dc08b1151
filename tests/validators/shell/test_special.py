"""Readers of programs whose words are no mere options and operands."""

from gatewright.validators.shell.special import CHECKS, PREPARES, SPECIALS
from gatewright.validators.shell.table import SPECIAL, table


def test_what_an_entry_names_is_there_or_needs_nothing_more() -> None:
    known = {*CHECKS, *PREPARES, *SPECIALS}
    assert known - {"git remote", "sqlite", *table().entries} <= SPECIAL
    assert {one.special for one in table().entries.values()} - {""} <= SPECIAL


def test_no_program_has_two_readers_of_all_its_words() -> None:
    assert not SPECIALS.keys() & CHECKS.keys()

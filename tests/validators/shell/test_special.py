"""Readers of programs whose words are no mere options and operands."""

from gatewright.validators.shell.special import CHECKS, PREPARES, SPECIALS
from gatewright.validators.shell.table import SPECIAL, table


def test_each_reader_is_named_by_an_entry_and_each_name_has_one() -> None:
    known = {*CHECKS, *PREPARES, *SPECIALS}
    entries = table().entries.values()
    used = {one.special for one in entries} - {""}
    assert used == SPECIAL
    assert used <= known
    assert known <= used | {one.names[0] for one in entries}


def test_no_program_has_two_readers_of_all_its_words() -> None:
    assert not SPECIALS.keys() & CHECKS.keys()

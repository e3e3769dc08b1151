"""Data files of the table of programs: each loads, each name stands once, and every example of an entry is judged as the entry says."""

import pytest

from gatewright.validators.shell.table import collected, data_files, entries_of

FILES = data_files()


@pytest.mark.parametrize("name", FILES)
def test_a_data_file_says_what_has_a_meaning(name: str) -> None:
    assert list(entries_of(FILES[name], name))


def test_each_name_stands_once() -> None:
    collected(one for name, text in FILES.items() for one in entries_of(text, name))

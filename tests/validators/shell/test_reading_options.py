"""Options that no entry names are refused of programs, too, that are read by a reader of their own, or know whole words behind one dash."""

import pytest

from gatewright.validators.sandbox import prepare
from gatewright.validators.shell.table import Entry, table

EVERYTHING = prepare({"allow": ["inspect", "network", "environment", "endless"]})
DEVELOP = prepare({"allow": ["develop"]})
OWN = frozenset({"find", "xargs", "env", "tar", "ps", "kill", "command", "ip", "cd"})
"""Readers that know all words of their programs; to `echo` and `test` every word is a text."""
ENTRIES = [one for one in {id(one): one for one in table().entries.values()}.values() if one.special in OWN or (one.words and one.special not in {"echo", "test"})]  # fmt: skip


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda one: str(one.names[0]))
def test_an_option_that_no_entry_names_is_refused(entry: Entry) -> None:
    """MGP-4.5-2"""
    name = entry.names[0]
    lines = [f"{name} {option}{more}" for option in ("--unheard", "--unheard=x", "-~") for more in ("", " x")]  # fmt: skip
    if not entry.operands.tail:
        lines += [f"{name} x {option}" for option in ("--unheard", "--unheard=x", "-~")]
    passing = [one for one in lines if EVERYTHING.judge(one) is None or DEVELOP.judge(one) is None]
    assert passing == []

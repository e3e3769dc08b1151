"""Entries of the table of programs: how options and operands are written, and what is refused as a mistake."""

import pytest

from gatewright.validators.shell.table import (
    FLAG,
    MAYBE,
    VALUED,
    BadEntry,
    Operands,
    Slot,
    collected,
    data_file_of,
    entries_of,
    table,
)


def entry(text: str) -> object:
    return next(iter(entries_of(f'[[program]]\nnames = ["x"]\n{text}', "a.toml")))


def test_lists_of_options_are_letters_long_names_and_whole_words() -> None:
    (found,) = entries_of(
        '[[program]]\nnames = ["x"]\nflags = "-ab -k: -i? long value= maybe? -word! -named!="', "a"
    )
    assert {name: opt.takes for name, opt in found.letters.items()} == {"a": FLAG, "b": FLAG, "k": VALUED, "i": MAYBE}  # fmt: skip
    assert {name: opt.takes for name, opt in found.longs.items()} == {"long": FLAG, "value": VALUED, "maybe": MAYBE}  # fmt: skip
    assert {name: opt.takes for name, opt in found.words.items()} == {"word": FLAG, "named": VALUED}


def test_the_list_of_an_option_says_what_its_value_is() -> None:
    (found,) = entries_of(
        '[[program]]\nnames = ["x"]\nreads = "-f:"\nwrites = "out= -O"\ndoes = { endless = "-e", writes = "-t:" }',
        "a",
    )
    assert found.letters["f"].kind == "reads"
    assert found.longs["out"].kind == "writes"
    assert found.letters["O"].does == {"writes_here"}
    assert found.letters["e"].does == {"endless"}
    assert found.letters["t"].kind == "writes"


@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("reads+ writes", Operands((Slot("reads", 1, many=True), Slot("writes")))),
        ("target? -- rest", Operands((Slot("target", 0),), "rest", dashed=True)),
        ("text command", Operands((Slot("text"),), "command")),
        ("script rest", Operands((Slot("script"),), "rest")),
        ("", Operands(())),
    ],
)
def test_operands_are_kinds_in_their_order(text: str, operands: Operands) -> None:
    (found,) = entries_of(f'[[program]]\nnames = ["x"]\noperands = "{text}"', "a")
    assert found.operands == operands


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ('flags = "--long"', "--long"),
        ('flags = "-a"\nwrites = "-a:"', "'a'"),
        ('operands = "bread"', "bread"),
        ('operands = "reads* writes*"', "many"),
        ('effects = ["magic"]', "magic"),
        ('does = { magic = "-a" }', "magic"),
        ('special = "magic"', "magic"),
        ('stdin = "magic"', "magic"),
        ('magic = ""', "magic"),
        ('reads = "-a"', "no value"),
        ('instead = { "-z" = "reads" }', "'z'"),
        ('flags = "-"', "'-'"),
        ('flags = "-!"', "'-!'"),
        ("flags = 3", "flags"),
        ("flags = ", "a.toml"),
    ],
)
def test_a_mistake_is_told_with_its_file_and_word(text: str, word: str) -> None:
    with pytest.raises(BadEntry) as told:
        entry(text)
    assert "a.toml" in str(told.value)
    assert word in str(told.value)


def test_two_entries_of_one_name_are_a_mistake() -> None:
    twice = '[[program]]\nnames = ["x"]\n' * 2
    with pytest.raises(BadEntry, match="two entries"):
        collected(entries_of(twice, "a"))
    with pytest.raises(BadEntry, match="names"):
        list(entries_of("[[program]]\nnames = []\n", "a"))


def test_all_words_before_the_last_of_a_name_lead_to_it() -> None:
    found = collected(entries_of('[[program]]\nnames = ["a b c"]\n', "x"))
    assert found.parents == {"a", "a b"}


def test_the_table_is_read_once() -> None:
    assert table() is table()
    assert {"git log", "sort", "npm run"} <= table().entries.keys()


def test_an_entry_is_found_in_its_data_file() -> None:
    assert data_file_of("git stash list") == "git.toml"
    assert data_file_of("no such program") == ""

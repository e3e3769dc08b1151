"""Words of a command by the options of its entry."""

import pytest

from gatewright.validators.shell.table import Entry, entries_of
from gatewright.validators.shell.words import Refused, given
from gatewright.validators.shell_syntax import Word

(ENTRY,) = entries_of(
    '[[program]]\nnames = ["x"]\nflags = "-ab -k: -i? all size= maybe? -name!= -long!"', "a"
)


def read(line: str, most: int | None = None, entry: Entry = ENTRY) -> tuple[list[tuple[str, str | None]], list[str], int]:  # fmt: skip
    found, read = given(entry, [Word(one) for one in line.split()], most=most)
    options = [(one.name, None if one.value is None else one.value.text) for one in found.options]
    return options, [one.text for one in found.operands], read


@pytest.mark.parametrize(
    ("line", "options", "operands"),
    [
        ("-ab f", [("-a", None), ("-b", None)], ["f"]),
        ("-k v f", [("-k", "v")], ["f"]),
        ("-akv f", [("-a", None), ("-k", "v")], ["f"]),
        ("-i f", [("-i", None)], ["f"]),
        ("-i.bak f", [("-i", ".bak")], ["f"]),
        ("--all f --size=3", [("--all", None), ("--size", "3")], ["f"]),
        ("--size 3", [("--size", "3")], []),
        ("--maybe f", [("--maybe", None)], ["f"]),
        ("--maybe=f", [("--maybe", "f")], []),
        ("-name v -long", [("-name", "v"), ("-long", None)], []),
        ("-name=v", [("-name", "v")], []),
        ("-- -a", [], ["-a"]),
        ("- f", [], ["-", "f"]),
    ],
)
def test_options_are_read_in_every_spelling(
    line: str, options: list[tuple[str, str | None]], operands: list[str]
) -> None:
    assert read(line)[:2] == (options, operands)


@pytest.mark.parametrize("line", ["-z", "-az", "--al", "--all=1", "--siz=3", "--size", "-k", "-name", "-long=1", "--unheard", "-é"])  # fmt: skip
def test_every_other_is_refused(line: str) -> None:
    with pytest.raises(Refused) as told:
        read(line)
    assert told.value.rule == "option"


def test_behind_the_first_operands_nothing_is_read() -> None:
    assert read("-a f --unheard", most=1) == ([("-a", None)], ["f"], 2)
    assert read("-- f --unheard", most=1) == ([], ["f"], 2)


def test_options_of_another_entry_count_as_well() -> None:
    (more,) = entries_of('[[program]]\nnames = ["y"]\nflags = "-z other"', "a")
    found, _ = given(ENTRY, [Word("-z"), Word("--other")], more=more)
    assert [one.name for one in found.options] == ["-z", "--other"]

"""How a program's arguments are read, and which of them are refused."""

import pytest

from gatewright.validators.shell_options import Program, option_rule
from gatewright.validators.shell_syntax import Word

TOOL = Program(short="ox", valued="kt", long=("output", "exec"), operands=1)


def rule(program: Program, line: str) -> str | None:
    return option_rule(program, [Word(one) for one in line.split()])


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", None),
        ("-a", None),
        ("-ab file", None),
        ("-", None),
        ("-k o", None),
        ("-ko", None),
        ("-t x file", None),
        ("-o", "option"),
        ("-ao", "option"),
        ("-ofile", "option"),
        ("-k -o", "option"),
        ("-kx", None),
        ("-akx", None),
        ("-k 1 -x", "option"),
        ("--output", "option"),
        ("--output=file", "option"),
        ("--out", "option"),
        ("--o", "option"),
        ("--e", "option"),
        ("--outputs", None),
        ("--quiet", None),
        ("-- -o", None),
        ("-- -o b", "operand"),
        ("a b", "operand"),
        ("-k 1 a", None),
        ("-k 1 a b", "operand"),
        ("--version", None),
        ("--help -o", "option"),
        ("- a", "operand"),
        ("-k -- a b", "operand"),
        ("-- a -", "operand"),
        ("--quiet a b", "operand"),
        ("-a b c", "operand"),
        ("-ak 1 a", None),
        ("-ka b c", "operand"),
        ("--exec", "option"),
    ],
)
def test_letters_values_and_shortened_names_are_understood(line: str, expected: str | None) -> None:
    assert rule(TOOL, line) == expected


def test_whole_words_and_subcommands_are_judged() -> None:
    words = Program(words=frozenset({"dump", "o"}))
    assert [rule(words, one) for one in ("-x", "-dump", "--dump", "-o=x", "file")] == [
        None,
        "option",
        "option",
        "option",
        None,
    ]
    subs = Program(subs={"list": Program(), "show": TOOL})
    assert [rule(subs, one) for one in ("list -o", "show -o", "drop", "", "--help", "-x list")] == [
        None,
        "option",
        "subcommand",
        "subcommand",
        None,
        "subcommand",
    ]


def test_a_program_with_nothing_to_refuse_is_open() -> None:
    assert not Program().closed
    assert not Program(valued="k", textual=True).closed
    assert TOOL.closed
    assert Program(check=lambda _: None).closed
    assert Program(operands=0).closed

"""How a program's arguments are read, and which of them are refused."""

import pytest

from gatewright.patterns import Pattern
from gatewright.validators.shell_options import Program, option_rule, shaped
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
        ("-- -a", None),
        ("-- -a b", "operand"),
        ("-- --", None),
        ("-- -- a", "operand"),
        ("-- -o", "option"),
        ("-k -- -o", "option"),
        ("--quiet -- --output=f", "option"),
        ("-- -- --exec", "option"),
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


def test_options_before_the_subcommand_are_those_that_are_named() -> None:
    tool = Program(
        subs={"list": TOOL}, leading=frozenset({"-q"}), leading_valued=frozenset({"-n", "--name"})
    )
    lines = {
        "-q list": None,
        "-n x list": None,
        "--name=x -q list": None,
        "-n list": "subcommand",
        "--name list": "subcommand",
        "-q=x list": "subcommand",
        "-n x drop": "subcommand",
        "-n x list -o": "option",
        "-q": "subcommand",
    }
    assert {line: rule(tool, line) for line in lines} == lines
    assert rule(tool._replace(alone=True), "-q") is None
    assert rule(tool._replace(alone=True), "drop") == "subcommand"


def test_operands_may_choose_what_is_shown() -> None:
    tool = TOOL._replace(choosing=frozenset({"--list"}))
    assert [rule(tool, one) for one in ("--list a b", "--list=a b c", "a b", "--list a -o")] == [
        None,
        None,
        "operand",
        "option",
    ]


def test_what_chooses_is_no_value_of_another_option() -> None:
    tool = TOOL._replace(choosing=frozenset({"--list", "-l"}), plain=frozenset({"--all"}))
    lines = {
        "a b --list": None,
        "-a --list a b": None,
        "--all -l a b": None,
        "--sort=x --list a b": None,
        "--sort x --list a b": None,
        "--list --sort x a b": None,
        "- --list a b": None,
        "--sort --list a b": "operand",
        "-k --list a b c": "operand",
        "-ak -l a b c": "operand",
        "-- a --list": "operand",
        "--sort -- --list a b": "operand",
    }
    assert {line: rule(tool, line) for line in lines} == lines


def test_words_may_be_refused_by_their_form() -> None:
    tool = TOOL._replace(refused=Pattern("x.*").fits)
    assert [rule(tool, one) for one in ("a", "xa", "-k xa")] == [None, "operand", "operand"]


def test_all_words_may_have_to_have_a_form() -> None:
    tool = shaped("-a|--all", r"\w+")
    assert [rule(tool, one) for one in ("-a x", "--all", "-ab", "x y=z", "--version")] == [
        None,
        None,
        "option",
        "operand",
        None,
    ]


def test_a_program_with_nothing_to_refuse_is_open() -> None:
    assert not Program().closed
    assert not Program(valued="k", textual=True).closed
    assert TOOL.closed
    assert Program(check=lambda _: None).closed
    assert Program(operands=0).closed

"""Lines of several commands, each taken out by itself."""

from __future__ import annotations

import contextlib

import pytest

from gatewright.validators.shell_pipelines import read_list
from gatewright.validators.shell_syntax import MAX_BYTES, Unacceptable
from tests.costs import DOUBLED, grows


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("ls", ["ls"]),
        ("a b && c | d; e || f", ["a", "c", "d", "e", "f"]),
        ("(cd x && a); b", ["cd", "a", "b"]),
        ("{ a; b; }", ["a", "b"]),
        ("! a | b", ["a", "b"]),
        ("if a; then b; else c; fi", ["a", "b", "c"]),
        ("A=1 b > c 2>&1", ["b"]),
        ("a\nb", ["a", "b"]),
        ("a && b 2>&1 | c", ["a", "b", "c"]),
        ("[ -f a ] && b", ["test", "b"]),
        ("a $(find . -name b)", ["find", "a"]),
        ("a # b", ["a"]),
    ],
)
def test_each_command_of_a_line_is_found(line: str, programs: list[str]) -> None:
    found = [one.words[0].text for step in read_list(line) for one in step.commands]
    assert found == programs


def test_what_stands_around_a_command_is_kept() -> None:
    (step,) = read_list("A=1 B='x y' c d 2>/dev/null >>e")
    (command,) = step.commands
    assert command.variables == ("A=1", "B=x y")
    assert [(one.sign, one.target.text) for one in command.redirections] == [
        (">", "/dev/null"),
        (">>", "e"),
    ]


def test_what_is_known_of_a_line_stands_for_its_variables() -> None:
    (step,) = read_list('a "$HOME/x" $PWD/y $? $((1 + 2))')
    assert [one.text for one in step.commands[0].words] == ["a", "~/x", "./y", "0", "0"]


@pytest.mark.parametrize(
    "line",
    ["", "a $X", "a `b`", "a $(b; c)", "a >(b)", "for PATH in b; do c; done", "while a; do b; done", "f() { a; }", "a <<E\nb\nE", "case a in b) c;; esac",
     "a 'b\nc'", "a\x00b", "a" * (MAX_BYTES + 1), "a;" * 400, "declare -x A=1", "a <<< b <<< $X", "(" * 40 + "a" + ")" * 40],
)  # fmt: skip
def test_every_other_construct_is_refused(line: str) -> None:
    with pytest.raises(Unacceptable):
        read_list(line)


def test_a_message_may_have_lines() -> None:
    assert read_list("git commit -m 'a\n\nb'")
    with pytest.raises(Unacceptable):
        read_list("git log --author='a\nb'")


@pytest.mark.parametrize(
    "unit", ["a && ", "$(", "(", "a;", "$PWD ", "A=1 ", "2>a ", "if a; then ", "{ ", "a | "]
)
def test_hostile_lines_are_read_in_linear_time(unit: str) -> None:
    def work(length: int) -> None:
        with contextlib.suppress(Unacceptable):
            read_list("x " + unit * (length // len(unit)))

    assert grows(lambda: work(1000), lambda: work(4000)) <= DOUBLED**2

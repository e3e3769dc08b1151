"""One command of a line: its words, variables and redirections."""

import pytest

from gatewright.validators.shell_commands import Command, Redirection, command_of
from gatewright.validators.shell_syntax import Unacceptable, Word, root_of


def command(line: str) -> Command:
    return command_of(root_of(line.encode()).children[0])


def test_a_command_is_its_words_variables_and_redirections() -> None:
    found = command("A=1 sort -u f 2>>log")
    assert [one.text for one in found.words] == ["sort", "-u", "f"]
    assert found.variables == ("A=1",)
    assert found.redirections == (Redirection(">>", Word("log")),)
    assert command("cat <<< x").redirections == (Redirection("<<<", Word("x")),)
    assert command("A=1 B=2") == Command([], ("A=1", "B=2"))
    assert command("! ls").words == [Word("ls")]
    assert command("export A=1").variables == ("A=1",)


@pytest.mark.parametrize("line", ["a() { ls; }", "export", "! cd x", "A[1]=2", "ls > a{b,c}", "A=(1)", "((1))"])  # fmt: skip
def test_anything_else_is_refused_by_its_name(line: str) -> None:
    with pytest.raises(Unacceptable):
        command(line)

"""`gatewright policy`: the group of commands that ask and call nothing."""

from tests.cli.shell import Shell


def test_the_group_tells_its_commands(shell: Shell) -> None:
    found = shell.run("policy", "--help")
    assert found.code == 0
    assert "try" in found.out
    assert "without calling anything" in found.out

"""Shared options mean the same in every command."""

import pytest

from tests.cli.shell import Shell


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("server list", ("--config", "--url", "--key", "--json")),
        ("tool list", ("--config", "--url", "--key", "--profile", "--json")),
        ("tool show", ("--config", "--url", "--key", "--profile", "--json")),
        ("tool call", ("--config", "--url", "--key", "--profile", "--json", "--timeout")),
        ("bridge", ("--config", "--url", "--key", "--profile")),
        ("serve", ("--config", "--host", "--port", "--stdio", "--profile")),
        ("audit tail", ("--config", "--follow", "--json")),
        ("audit query", ("--config", "--json")),
        ("audit verify", ("--config", "--json")),
        ("key create", ("--config", "--key", "--json")),
        ("key list", ("--config", "--json")),
        ("key revoke", ("--config", "--key", "--json")),
        ("config check", ("--config", "--json")),
        ("config show", ("--config", "--json")),
        ("config path", ("--config", "--json")),
        ("version", ("--json",)),
    ],
)
def test_a_command_takes_the_shared_options(
    shell: Shell, command: str, options: tuple[str, ...]
) -> None:
    shown = shell.run(*command.split(), "--help")
    assert shown.code == 0
    for option in options:
        assert option in shown.out


def test_a_group_offers_no_installation_of_completion(shell: Shell) -> None:
    assert "--install-completion" in shell.run("--help").out
    assert "--install-completion" not in shell.run("tool", "--help").out

"""Shared options mean the same in every command."""

import pytest

from gatewright.cli.app import run


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
    capfd: pytest.CaptureFixture[str], command: str, options: tuple[str, ...]
) -> None:
    assert run([*command.split(), "--help"]) == 0
    shown = capfd.readouterr().out
    for option in options:
        assert option in shown


@pytest.mark.parametrize("group", [[], ["tool"]])
def test_no_help_offers_what_the_command_completion_is_for(
    capfd: pytest.CaptureFixture[str], group: list[str]
) -> None:
    assert run([*group, "--help"]) == 0
    assert "--install-completion" not in capfd.readouterr().out

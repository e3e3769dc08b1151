"""`config trust` and `untrust`, and the question that a person is asked once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gatewright.cli.errors import Exit
from tests.cli.shell import Shell

SERVER = '[[servers]]\nid = "a"\ncommand = "true"\nenv = { LD_PRELOAD = "x.so" }\n'


@pytest.fixture
def stranger(shell: Shell) -> Shell:
    """A shell in a folder with a file that nobody accepted."""
    shell.accepting = False
    shell.write("mgp.toml", SERVER)
    return shell


def test_without_a_terminal_the_refusal_names_the_file_what_it_does_and_the_command(
    stranger: Shell,
) -> None:
    done = stranger.run("config", "show", "--json")
    assert done.code == Exit.DENIED
    assert done.error["code"] == "config_not_accepted"
    assert "server a runs `true`" in done.error["message"]
    assert f"gatewright config trust {stranger.folder}/mgp.toml" in done.error["hint"]
    assert done.out == ""


def test_yes_does_not_mean_yes_to_a_configuration(stranger: Shell) -> None:
    assert (
        stranger.run("--yes", "connect", "cursor", "--yes").error["code"] == "config_not_accepted"
    )


def test_trust_shows_what_is_accepted_and_untrust_takes_it_back(stranger: Shell) -> None:
    done = stranger.run("config", "trust")
    assert "server a runs `true`" in done.out
    assert "LD_PRELOAD=x.so, which chooses what a program loads" in done.out
    assert stranger.run("config", "show").code == 0
    assert stranger.run("config", "untrust", "--json").document["trusted"] is False
    assert stranger.run("config", "show").code == Exit.DENIED
    assert stranger.run("config", "untrust").code == Exit.USAGE


def test_a_change_is_refused_with_what_is_different(stranger: Shell) -> None:
    assert stranger.run("config", "trust", "mgp.toml", "--json").document["trusted"] is True
    stranger.write("mgp.toml", SERVER.replace("true", "false"))
    done = stranger.run("server", "check")
    assert done.code == Exit.DENIED
    assert "changed: servers.a.command = 'false'" in done.error["message"]


def test_a_person_is_shown_the_file_and_asked_once(stranger: Shell) -> None:
    first = stranger.run_at_terminal("config", "show", answers="y\n", after="[y/N]")
    assert "server a runs `true`" in first.out
    assert first.code == 0
    second = stranger.run_at_terminal("config", "show")
    assert "[y/N]" not in second.out
    assert second.code == 0


def test_a_person_who_says_no_is_told_how_to_say_yes_later(stranger: Shell) -> None:
    done = stranger.run_at_terminal("config", "show", answers="n\n", after="[y/N]")
    assert done.code == Exit.DENIED
    assert "config trust" in done.out
    assert stranger.run("config", "show").code == Exit.DENIED


def test_a_link_is_shown_as_one(stranger: Shell, tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    (stranger.folder / "mgp.toml").rename(real)
    (stranger.folder / "mgp.toml").symlink_to(real)
    done = stranger.run_at_terminal("config", "show", answers="n\n", after="[y/N]")
    assert f"a link to {real}" in done.out


def test_what_we_wrote_at_the_users_word_is_not_asked_about(shell: Shell) -> None:
    shell.accepting = False
    assert shell.run("init").code == 0
    assert shell.run("server", "add", "b", "--", "true").code == 0
    assert shell.run("config", "show").code == 0


def test_in_a_folder_without_a_file_trust_says_so(shell: Shell) -> None:
    assert shell.run("config", "trust").error["code"] == "not_found"


def test_nothing_of_a_file_repaints_the_screen(stranger: Shell) -> None:
    stranger.write("mgp.toml", '[[servers]]\nid = "a"\ncommand = "x\\u001b[2J\\u202e"\n')
    shown = stranger.run_at_terminal("config", "show", answers="n\n", after="[y/N]").out
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("name", ["mgp.toml", "mcp.toml"])
@pytest.mark.parametrize("by_file", [True, False])
def test_untrust_takes_back_what_is_no_more(stranger: Shell, name: str, *, by_file: bool) -> None:
    project = stranger.folder / "old"
    project.mkdir()
    (project / name).write_text(SERVER)
    assert stranger.run("config", "trust", f"old/{name}").code == 0
    shutil.rmtree(project)
    named = f"old/{name}" if by_file else "old"
    done = stranger.run("config", "untrust", named, "--json")
    assert done.document == {"file": str(project / name), "trusted": False}
    assert stranger.run("config", "untrust", named).error["code"] == "not_found"

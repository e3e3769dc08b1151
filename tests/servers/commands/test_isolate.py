"""`server isolate`: what it writes, and that it writes nothing where the level cannot be given."""

from __future__ import annotations

import tomllib

import pytest

from gatewright.servers.commands import isolate as command
from tests.cli.shell import Shell

FILE = '# ours\n[[servers]]\nid = "a"\ncommand = "x" # why\n'


@pytest.fixture(autouse=True)
def _given(monkeypatch: pytest.MonkeyPatch) -> None:
    async def flaw(_: str) -> str:
        return ""

    monkeypatch.setattr(command, "flaw", flaw)


def test_level_folders_and_network_are_written(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    words = ("--write", "work", "--read", "/opt", "--network", "none", "--json")
    done = shell.run("server", "isolate", "a", "confined", *words)
    assert done.document == {"name": "a", "isolation": "confined", "file": str(file)}
    assert file.read_text().startswith(FILE)
    (server,) = tomllib.loads(file.read_text())["servers"]
    assert server["isolation"] == "confined"
    assert server["sandbox"] == {
        "read": ["/opt"],
        "write": [str(shell.folder / "work")],
        "network": "none",
    }


def test_what_was_written_is_changed_and_taken_back(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    assert "a is isolated (confined)" in shell.run("server", "isolate", "a").err
    assert "a is isolated (strict)" in shell.run("server", "isolate", "a", "strict").err
    assert file.read_text().count("isolation") == 1
    assert "a is not isolated" in shell.run("server", "isolate", "a", "none").err


def test_what_a_level_does_not_give_is_not_written(shell: Shell) -> None:
    file = shell.write("mgp.toml", FILE)
    done = shell.run("server", "isolate", "a", "strict", "--write", "/opt")
    assert done.code != 0
    assert "a strict server changes nothing" in done.err
    assert file.read_text() == FILE


def test_a_server_that_is_not_there_is_told(shell: Shell) -> None:
    shell.write("mgp.toml", FILE)
    assert "no server 'b'" in shell.run("server", "isolate", "b").err


def test_where_it_cannot_be_given_nothing_is_changed(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def flaw(_: str) -> str:
        return "bwrap is not installed"

    monkeypatch.setattr(command, "flaw", flaw)
    file = shell.write("mgp.toml", FILE)
    done = shell.run("server", "isolate", "a", "strict")
    assert (done.code, done.error["code"]) == (8, "isolation")
    assert "bwrap is not installed" in done.err
    assert file.read_text() == FILE
    assert shell.run("server", "isolate", "a", "none").code == 0

"""Commands that are shown lead to this very program and configuration when they are copied."""

import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.cli.as_typed import option, program

FOLDER = Path(sys.executable).absolute().parent


def version(shown: str) -> str:
    """What the program says that was shown, asked through a shell."""
    done = subprocess.run(
        ["/bin/sh", "-c", f"{shown} version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout


def test_where_the_shell_finds_us_the_name_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(FOLDER), prepend=":")
    assert program() == "gatewright"


def test_where_the_shell_finds_another_or_none_it_is_the_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    other = tmp_path / "gatewright"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path, tmp_path / "nothing"):
        monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
        assert program() == str(FOLDER / "gatewright")
        assert version(program())


def test_below_the_folder_that_we_are_in_the_path_is_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    monkeypatch.chdir(FOLDER.parent)
    assert program() == f"{FOLDER.name}/gatewright"
    assert version(program())


def test_a_program_without_a_script_is_a_module_and_spaces_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bare = tmp_path / "two words" / "python"
    bare.parent.mkdir()
    bare.symlink_to(sys.executable)
    monkeypatch.setattr(sys, "executable", str(bare))
    monkeypatch.chdir(tmp_path)
    assert program() == "'two words/python' -m gatewright"


def test_a_configuration_that_was_named_is_named_again() -> None:
    assert option(None) == ""
    assert option(Path("examples/mgp.toml")) == " --config examples/mgp.toml"
    assert option(Path("my gateway.toml")) == " --config 'my gateway.toml'"

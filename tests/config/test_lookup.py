"""Which file counts: the order of MGP §15.2 as decision C-18 reads it."""

import errno
import os
from pathlib import Path
from typing import Any

import platformdirs
import pytest

from gatewright.config import SettingsError, find, load, state_directory
from tests.accepting import accept_file

Files = dict[str, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A repository with a working directory below, a home, and a file that a variable names."""
    found = {
        "user": tmp_path / "home/.config/mgp/servers.toml",
        "project": tmp_path / "repo/mgp.toml",
        "named": tmp_path / "named.toml",
        "explicit": tmp_path / "explicit.toml",
    }
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/deep/down").mkdir(parents=True)
    for name, path in found.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            f'[[servers]]\nid = "{name}"\ncommand = "x"\n'
            f'[[servers]]\nid = "both"\ncommand = "{name}"\n'
        )
    return found


def environ(files: Files, **more: str) -> dict[str, str]:
    return {"HOME": str(files["user"].parents[2]), **more}


def commands(files: Files, config: Path | None = None, **more: str) -> dict[str, str]:
    cwd = files["project"].parent / "deep/down"
    for file in (files["project"], files["project"].with_name("mcp.toml")):
        if file.exists():
            accept_file(file, environ(files))
    settings = load(config, environ=environ(files, **more), cwd=cwd)
    return {server.id: server.command for server in settings.servers}


def test_the_project_file_goes_over_the_user_file_merged_by_server_id(files: Files) -> None:
    """MGP-15.2-1"""
    assert commands(files) == {"project": "x", "both": "project", "user": "x"}


def test_the_user_file_serves_alone_where_there_is_no_project(files: Files) -> None:
    """MGP-15.2-1"""
    files["project"].unlink()
    assert commands(files) == {"user": "x", "both": "user"}


def test_the_variable_is_used_alone(files: Files) -> None:
    """MGP-15.2-1"""
    assert commands(files, MGP_CONFIG_PATH=str(files["named"])) == {"named": "x", "both": "named"}


def test_an_explicit_file_is_used_alone_whatever_the_variable_says(files: Files) -> None:
    found = commands(files, files["explicit"], MGP_CONFIG_PATH=str(files["named"]))
    assert found == {"explicit": "x", "both": "explicit"}


def test_an_empty_variable_is_as_good_as_none(files: Files) -> None:
    assert "project" in commands(files, MGP_CONFIG_PATH="")


def test_a_variable_that_names_nothing_is_an_error_that_names_the_variable(files: Files) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml.*MGP_CONFIG_PATH.*no such file"):
        commands(files, MGP_CONFIG_PATH="gone.toml")


def test_an_explicit_file_that_is_missing_is_an_error(files: Files) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml: there is no such file"):
        commands(files, Path("gone.toml"))


def test_the_second_name_is_accepted_and_the_first_one_wins(files: Files) -> None:
    second = files["project"].with_name("mcp.toml")
    second.write_text('[[servers]]\nid = "second"\ncommand = "x"\n')
    assert "second" not in commands(files)
    files["project"].unlink()
    assert "second" in commands(files)


def test_the_search_ends_at_the_root_of_the_repository(files: Files) -> None:
    files["project"].rename(files["project"].parents[1] / "mgp.toml")
    assert "project" not in commands(files)


def test_outside_a_repository_only_the_working_directory_counts(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text("")
    (tmp_path / "below").mkdir()
    nobody = {"HOME": str(tmp_path / "nobody")}
    assert find(environ=nobody, cwd=tmp_path) == [tmp_path / "mgp.toml"]
    assert find(environ=nobody, cwd=tmp_path / "below") == []


def test_a_file_above_that_belongs_to_somebody_else_is_not_used_unasked(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = files["project"].stat().st_uid
    monkeypatch.setattr(os, "getuid", lambda: owner + 1)
    if owner == 0:
        os.chown(files["project"], 12345, -1)
    with pytest.raises(SettingsError, match="belongs to somebody else; pass --config"):
        commands(files)
    assert "project" in commands(files, files["project"])


def test_no_file_at_all_means_defaults(tmp_path: Path) -> None:
    settings = load(environ={"HOME": str(tmp_path)}, cwd=tmp_path)
    assert (settings.servers, settings.files, settings.gateway.port) == ((), (), 8420)


def test_state_goes_where_the_variable_says_else_where_the_platform_keeps_it() -> None:
    assert state_directory({"GATEWRIGHT_STATE": "/somewhere"}) == Path("/somewhere")
    assert state_directory({"GATEWRIGHT_STATE": ""}) == platformdirs.user_state_path("gatewright")
    for relative in ("here", ".gatewright", "./here", "../here", "~/here"):
        with pytest.raises(SettingsError, match="is relative"):
            state_directory({"GATEWRIGHT_STATE": relative})


def test_the_state_variable_goes_over_the_file(files: Files) -> None:
    files["explicit"].write_text('[storage]\npath = "state"\n')
    written = load(files["explicit"], environ=environ(files))
    named = load(files["explicit"], environ=environ(files, GATEWRIGHT_STATE="/elsewhere"))
    assert written.storage.path == files["explicit"].parent / "state"
    assert named.storage.path == Path("/elsewhere")


@pytest.mark.parametrize("closed", ["user", "project"])
def test_a_file_that_cannot_be_looked_at_is_not_taken_for_one_that_is_not_there(
    files: Files, closed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that may write around it can close a folder on the way; another configuration would be in force then."""
    real, folder = os.stat, files[closed].parent
    here = folder if closed == "project" else files["explicit"].parent

    def refuses(path: int | str | Path, *args: Any, **options: Any) -> os.stat_result:
        if not isinstance(path, int) and folder in Path(path).parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **options)

    opens = os.open

    def opening(path: str | Path, *args: Any, **options: Any) -> int:
        refuses(path)
        return opens(path, *args, **options)

    monkeypatch.setattr(os, "stat", refuses)
    monkeypatch.setattr(os, "open", opening)
    with pytest.raises(SettingsError, match=rf"{files[closed]}.*Permission denied"):
        load(environ=environ(files), cwd=here)

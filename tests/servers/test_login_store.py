"""Tokens and registrations in files of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gatewright.oauth.client import Client, Grant
from gatewright.servers.login_store import Kept, Logins
from gatewright.storage.errors import StoreError

URL = "https://h.example/mcp"
CLIENT = Client("https://as.example", "id", "s3cret", "client_secret_post", "registered", "back")
GRANT = Grant(URL, URL, CLIENT, "access", "refresh", 1000.5, ("a", "b"))


def files(folder: Path) -> list[Path]:
    return sorted((folder / "logins").iterdir())


def test_what_is_saved_is_loaded_by_everybody(tmp_path: Path) -> None:
    Logins(tmp_path).save("files", Kept(URL, GRANT, ("c",)))
    assert Logins(tmp_path).load("files", URL) == Kept(URL, GRANT, ("c",))


def test_nothing_is_kept_of_a_stranger_and_no_folder_made(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    assert logins.load("files", URL) == Kept(URL)
    assert logins.client("https://as.example", "back") is None
    assert not logins.forget("files")
    assert list(tmp_path.iterdir()) == []


def test_another_url_under_the_same_name_gets_nothing(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.save("files", Kept(URL, GRANT))
    assert logins.load("files", "https://evil.example/mcp") == Kept("https://evil.example/mcp")
    assert logins.load("other", URL) == Kept(URL)


def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        logins = Logins(tmp_path)
        logins.save("files", Kept(URL, GRANT))
        logins.register(CLIENT)
    finally:
        os.umask(before)
    assert (tmp_path / "logins").stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in files(tmp_path)] == [0o600, 0o600]


def test_a_secret_of_the_configuration_is_not_written_down(tmp_path: Path) -> None:
    ours = Client("https://as.example", "id", "s3cret", "client_secret_post", "configured")
    Logins(tmp_path).save("files", Kept(URL, Grant(URL, URL, ours, "access")))
    assert "s3cret" not in files(tmp_path)[0].read_text()


def test_a_registration_belongs_to_an_issuer_and_a_redirect_uri(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.register(CLIENT)
    assert logins.client("https://as.example", "back") == CLIENT
    assert logins.client("https://as.example/", "back") is None
    assert logins.client("https://as.example", "elsewhere") is None


def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.save("../../evil", Kept(URL, GRANT))
    assert [path.name for path in tmp_path.iterdir()] == ["logins"]
    assert logins.load("../../evil", URL).grant == GRANT


def test_a_forgotten_login_is_gone(tmp_path: Path) -> None:
    logins = Logins(tmp_path)
    logins.save("files", Kept(URL, GRANT))
    assert logins.forget("files")
    assert logins.load("files", URL) == Kept(URL)
    assert files(tmp_path) == []


@pytest.mark.parametrize("damage", [b"", b"{}", b"\xff", b'{"url":5}'])
def test_a_damaged_file_says_what_to_do(tmp_path: Path, damage: bytes) -> None:
    logins = Logins(tmp_path)
    logins.save("files", Kept(URL, GRANT))
    files(tmp_path)[0].write_bytes(damage)
    with pytest.raises(StoreError, match="remove it, and log in again"):
        logins.load("files", URL)


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "logins").write_text("in the way")
    with pytest.raises(StoreError, match="logins"):
        Logins(tmp_path).save("files", Kept(URL, GRANT))
    with pytest.raises(StoreError, match="logins"):
        Logins(tmp_path).load("files", URL)

"""A configuration that was found is used once it was accepted, as it was accepted."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import FileSource, Settings, SettingsError, load, review
from gatewright.config.build import build
from gatewright.config.documents import read
from gatewright.config.edit import add_servers, editing, set_server_value
from gatewright.config.trust import NotAccepted, accept, is_accepted, place_of, trust_of

SERVER = '[[servers]]\nid = "a"\ncommand = "x"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "project"
    found.mkdir()
    (found / "mgp.toml").write_text(SERVER)
    return found


def environ(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder.parent / "home")}


def found(folder: Path) -> list[str]:
    return [one.command for one in load(environ=environ(folder), cwd=folder).servers]


def take(folder: Path) -> None:
    accept(read(folder / "mgp.toml"), environ(folder))


def test_it_is_refused_by_name_until_it_is_accepted(folder: Path) -> None:
    with pytest.raises(NotAccepted) as caught:
        found(folder)
    assert "server a runs `x`" in str(caught.value)
    assert f"gatewright config trust {folder}/mgp.toml" in str(caught.value)
    take(folder)
    assert found(folder) == ["x"]


def test_nothing_that_it_names_is_opened_before_it_was_ever_accepted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def digest_of(path: Path) -> tuple[str, int]:
        opened.append(path.name)
        return "", 0

    monkeypatch.setattr(review, "_digest_of", digest_of)
    (folder / "mgp.toml").write_text(SERVER + 'args = ["${file:large}"]\n')
    with pytest.raises(NotAccepted):
        found(folder)
    assert opened == []
    take(folder)
    assert opened == ["large"]


def test_a_file_that_somebody_names_is_meant(folder: Path) -> None:
    file = folder / "mgp.toml"
    assert len(load(file, environ=environ(folder)).servers) == 1
    named = {**environ(folder), "MGP_CONFIG_PATH": str(file)}
    assert len(load(environ=named, cwd=folder).servers) == 1
    with pytest.raises(NotAccepted):
        found(folder)


@pytest.mark.parametrize("name", ["mgp.toml", "./mgp.toml", "../project/mgp.toml", "other.toml"])
def test_a_relative_variable_leads_elsewhere_in_each_folder_so_its_file_is_asked_about(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "other.toml").write_text(SERVER)
    named = {**environ(folder), "MGP_CONFIG_PATH": name}
    with pytest.raises(NotAccepted):
        load(environ=named, cwd=folder)
    accept(read(Path(name)), environ(folder))
    assert len(load(environ=named, cwd=folder).servers) == 1
    assert len(load(folder / "mgp.toml", environ=named, cwd=folder).servers) == 1


API = '[[servers]]\nid = "api"\nopenapi = "api.json"\nbase_url = "http://127.0.0.1:1"\n'


def test_a_document_is_believed_as_it_was_accepted(folder: Path) -> None:
    (folder / "api.json").write_text("{}")
    (folder / "mgp.toml").write_text(API)
    file = folder / "mgp.toml"
    assert load(file, environ=environ(folder)).servers[0].accepted == ""
    take(folder)
    (one,) = load(environ=environ(folder), cwd=folder).servers
    assert one.accepted == hashlib.sha256(b"{}").hexdigest()
    source = FileSource(environ=environ(folder), cwd=folder)
    source.load()
    before = source.stamp()
    (folder / "api.json").write_text('{"other": 1}')
    assert source.stamp() != before
    with pytest.raises(NotAccepted, match=r"file api\.json = other content"):
        FileSource(environ=environ(folder), cwd=folder).load()
    assert source.load().servers[0].accepted == hashlib.sha256(b"{}").hexdigest()
    take(folder)
    assert source.load().servers[0].accepted == hashlib.sha256(b'{"other": 1}').hexdigest()
    (folder / "api.json").unlink()
    take(folder)
    assert source.load().servers[0].accepted == "not read"
    (folder / "mgp.toml").write_text(API.replace("api.json", "http://127.0.0.1:1/api.json"))
    take(folder)
    assert source.load().servers[0].accepted == ""


def test_the_users_own_file_is_never_asked_about(folder: Path) -> None:
    (folder / "mgp.toml").unlink()
    own = folder.parent / "home/.config/mgp/servers.toml"
    own.parent.mkdir(parents=True)
    own.write_text(SERVER)
    assert found(folder) == ["x"]


def test_a_file_above_is_asked_about_as_well(folder: Path) -> None:
    (folder / ".git").mkdir()
    below = folder / "deep"
    below.mkdir()
    with pytest.raises(NotAccepted):
        load(environ=environ(folder), cwd=below)
    take(folder)
    assert load(environ=environ(folder), cwd=below).servers


def test_a_change_is_shown_and_refused_until_it_is_accepted(folder: Path) -> None:
    take(folder)
    (folder / "mgp.toml").write_text(SERVER + 'args = ["--evil"]\n[limits]\ndepth = 3\n')
    with pytest.raises(NotAccepted, match="has changed since") as caught:
        found(folder)
    assert caught.value.lines == ["new: servers.a.args.0 = '--evil'"]


def test_an_acceptance_holds_for_one_place(folder: Path) -> None:
    take(folder)
    other = folder.parent / "other"
    other.mkdir()
    (other / "mgp.toml").write_text(SERVER)
    with pytest.raises(NotAccepted):
        load(environ=environ(folder), cwd=other)


@pytest.mark.parametrize("kind", ["symbolic", "hard"])
def test_a_link_to_an_accepted_file_is_another_configuration(kind: str, folder: Path) -> None:
    """What it names is looked for from the folder that the link is in."""
    take(folder)
    other = folder.parent / "other"
    other.mkdir()
    (os.symlink if kind == "symbolic" else os.link)(folder / "mgp.toml", other / "mgp.toml")
    with pytest.raises(NotAccepted):
        load(environ=environ(folder), cwd=other)


def test_a_folder_is_the_same_through_a_link_to_it(folder: Path) -> None:
    take(folder)
    linked = folder.parent / "linked"
    linked.symlink_to(folder)
    assert place_of(linked / "mgp.toml") == place_of(folder / "mgp.toml")
    assert load(environ=environ(folder), cwd=linked).servers


def test_nothing_that_the_file_or_a_gateway_says_moves_what_is_remembered(folder: Path) -> None:
    (folder / "mgp.toml").write_text(f'{SERVER}[storage]\npath = "{folder}/state"\n')
    with_state = {**environ(folder), "GATEWRIGHT_STATE": str(folder / "other")}
    assert trust_of(with_state).file == trust_of(environ(folder)).file
    assert folder not in trust_of(environ(folder)).file.parents


def test_where_what_was_accepted_cannot_be_read_nothing_is_used(folder: Path) -> None:
    take(folder)
    trust_of(environ(folder)).file.write_text("{")
    with pytest.raises(SettingsError, match=r"trust\.json"):
        found(folder)
    assert not is_accepted(read(folder / "mgp.toml"), environ(folder))


def test_what_a_command_writes_into_a_new_or_accepted_file_is_accepted_by_that(
    folder: Path,
) -> None:
    (folder / "mgp.toml").unlink()
    with editing(folder / "mgp.toml", new="", environ=environ(folder)) as draft:
        add_servers(draft, [{"id": "a", "command": "x"}])
    assert found(folder) == ["x"]
    with editing(folder / "mgp.toml", environ=environ(folder)) as draft:
        set_server_value(draft, "a", "command", "y")
    assert found(folder) == ["y"]


def test_a_command_that_edits_a_strangers_file_does_not_accept_it(folder: Path) -> None:
    with editing(folder / "mgp.toml", environ=environ(folder)) as draft:
        add_servers(draft, [{"id": "b", "command": "mine"}])
    with pytest.raises(NotAccepted):
        found(folder)


def test_a_running_gateway_sees_that_a_change_was_accepted(folder: Path) -> None:
    take(folder)
    source = FileSource(environ=environ(folder), cwd=folder)
    source.load()
    (folder / "mgp.toml").write_text(SERVER.replace("x", "y"))
    assert source.load().servers[0].command == "x"
    before = source.stamp()
    take(folder)
    assert source.stamp() != before
    assert source.load().servers[0].command == "y"


def test_a_link_that_leads_nowhere_is_not_written_through(folder: Path) -> None:
    (folder / "mgp.toml").unlink()
    (folder / "mgp.toml").symlink_to(folder.parent / "elsewhere")
    with (
        pytest.raises(SettingsError, match="is a link to"),
        editing(folder / "mgp.toml", new="", environ=environ(folder)) as draft,
    ):
        add_servers(draft, [{"id": "a", "command": "x"}])
    assert not (folder.parent / "elsewhere").exists()


def test_a_new_file_that_cannot_be_accepted_is_written_all_the_same(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What it names, a secret that was just kept, must not be taken back while the file stands."""
    (folder / "mgp.toml").unlink()
    with editing(folder / "mgp.toml", new="", environ=environ(folder)) as draft:
        add_servers(draft, [{"id": "a", "command": "x", "args": ["y" * 5000]}])
    assert "could not be kept" in caplog.text
    assert "y" * 5000 in (folder / "mgp.toml").read_text()
    with pytest.raises(SettingsError):
        found(folder)


def test_a_value_file_that_is_exchanged_once_it_was_looked_at_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[[servers]]\nid = "x"\ncommand = "x"\nargs = ["${file:sub/value}"]\n'
    text += '[rooms]\n[[rooms.participants]]\nid = "p"\ntoken = "${file:sub/value}"\n'
    (folder / "mgp.toml").write_text(text)
    (folder / "sub").mkdir()
    value = folder / "sub" / "value"
    value.write_text("a-value-that-is-long-enough")
    take(folder)
    (one,) = load(environ=environ(folder), cwd=folder).servers
    assert (one.args, one.problem) == ((value.read_text(),), None)

    def exchanged(*arguments: Any) -> Settings:
        value.write_text("another-value-that-is-long-enough")
        return build(*arguments)

    monkeypatch.setattr("gatewright.config.lookup.build", exchanged)
    with pytest.raises(SettingsError, match=r"rooms\.participants.*value has changed since"):
        load(environ=environ(folder), cwd=folder)
    (folder / "mgp.toml").write_text(text.partition("[rooms]")[0])
    take(folder)
    value.write_text("a-value-that-is-long-enough")
    take(folder)
    (one,) = load(environ=environ(folder), cwd=folder).servers
    assert one.args == ()
    assert one.problem is not None
    assert "has changed since" in one.problem.what


def test_what_takes_an_acceptance_back_takes_the_secrets_back(folder: Path) -> None:
    """Another file at its place is another project's, whoever accepts that."""
    trust, one, other = trust_of(environ(folder)), folder / "mgp.toml", folder / "other.toml"
    take(folder)
    stores = [folder / "state", folder / "elsewhere"]
    for store in stores:
        trust.allow(store, "TOKEN", [one, other])
        trust.allow(store, "KEY", [one])
    assert trust.forget(one)
    assert trust.accepted(one) is None
    assert [trust.users(store, "TOKEN") for store in stores] == [[str(other)]] * 2
    assert [trust.users(store, "KEY") for store in stores] == [[], []]
    assert not trust.forget(one)
    trust.allow(stores[0], "KEY", [one])
    assert trust.forget(one), "which was not accepted, and might use a secret"

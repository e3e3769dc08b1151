"""Where the configuration of a running gateway comes from: the same files, and those that would count."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from gatewright.config import FileSource, SettingsError
from gatewright.config.sealed_file import SealedFile
from gatewright.config.source import named_files
from gatewright.config.trust import place_of, trust_of
from tests.accepting import accept_file, allow_secret

SERVER = '[[servers]]\nid = "{}"\ncommand = "x"\n'


def source(folder: Path, **more: Path) -> FileSource:
    return FileSource(more.get("config"), environ=home(folder), cwd=folder)


def home(folder: Path) -> dict[str, str]:
    return {"HOME": str(folder / "home")}


def test_what_the_command_line_says_stands_over_every_reading(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text("[gateway]\nport = 1\n")
    found = FileSource(file, host="127.0.0.9", port=7, environ={"HOME": str(tmp_path)})
    assert (found.load().gateway.host, found.load().gateway.port) == ("127.0.0.9", 7)
    file.write_text("[gateway]\nport = 2\n")
    assert found.load().gateway.port == 7


def test_a_file_that_comes_changes_or_goes_has_another_stamp(tmp_path: Path) -> None:
    found = source(tmp_path)
    assert found.load().servers == ()
    seen = [found.stamp()]
    assert found.used == seen[0]
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("a"))
    seen.append(found.stamp())
    project.write_text(SERVER.format("ab"))
    seen.append(found.stamp())
    fresh = tmp_path / "new"
    fresh.write_text(SERVER.format("cd"))
    os.utime(fresh, ns=(project.stat().st_atime_ns, project.stat().st_mtime_ns))
    fresh.replace(project)
    seen.append(found.stamp())
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(SERVER.format("u"))
    seen.append(found.stamp())
    project.unlink()
    seen.append(found.stamp())
    assert len(set(seen)) == len(seen)
    assert found.stamp() == seen[-1]


def test_what_was_read_is_as_old_as_its_stamp_says(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(SERVER.format("a"))
    found = source(tmp_path, config=file)
    found.load()
    file.write_text(SERVER.format("abc"))
    assert found.stamp() != found.used
    file.write_text("[broken")
    with pytest.raises(SettingsError):
        found.load()
    assert found.stamp() == found.used


def test_a_file_whose_content_is_a_value_counts_as_well(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one")
    (tmp_path / "mgp.toml").write_text(SERVER.format("a") + 'env = { A = "${file:token}" }\n')
    accept_file(tmp_path / "mgp.toml", home(tmp_path))
    found = source(tmp_path)
    assert found.load().servers[0].env == {"A": "one"}
    assert found.stamp() == found.used
    (tmp_path / "token").write_text("three")
    assert found.stamp() != found.used
    accept_file(tmp_path / "mgp.toml", home(tmp_path))
    assert found.load().servers[0].env == {"A": "three"}
    assert found.stamp() == found.used


def test_a_named_file_is_the_only_one_that_counts(tmp_path: Path) -> None:
    named = tmp_path / "named.toml"
    named.write_text("")
    found = FileSource(environ={"MGP_CONFIG_PATH": str(named), "HOME": str(tmp_path)}, cwd=tmp_path)
    before = found.stamp()
    (tmp_path / "mgp.toml").write_text(SERVER.format("a"))
    assert found.stamp() == before


def test_a_secret_that_is_set_or_replaced_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text(
        '[storage]\npath = "state"\n[[servers]]\nid = "a"\ncommand = "${secret:token}"\n'
    )
    accept_file(tmp_path / "mgp.toml", home(tmp_path))
    found = source(tmp_path)
    assert found.load().servers[0].problem is not None
    for value in ("one", "two"):
        SealedFile(tmp_path / "state").put("token", value)
        allow_secret("token", tmp_path / "mgp.toml", tmp_path / "state", home(tmp_path))
        assert found.stamp() != found.used
        assert found.load().servers[0].command == value
        assert found.stamp() == found.used


def test_the_files_that_are_followed_are_absolute_and_in_the_groups_of_which_one_counts(
    tmp_path: Path,
) -> None:
    """What other commands are told: whichever file comes first in a group is the one that a change must be of."""
    assert source(tmp_path, config=Path("some.toml")).follows() == [[tmp_path / "some.toml"]]
    assert source(tmp_path, config=Path("-")).follows() == [[Path("-")]]
    project, user = source(tmp_path).follows()
    assert project == [tmp_path / "mgp.toml", tmp_path / "mcp.toml"]
    assert user[0] == tmp_path / "home/.config/mgp/servers.toml"


def test_a_file_that_nobody_accepted_keeps_no_other_from_being_read_again(tmp_path: Path) -> None:
    """At the start it is asked about; later it counts as it was accepted, or not at all, and a warning says so."""
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(SERVER.format("u1"))
    project = tmp_path / "mgp.toml"
    found = source(tmp_path)

    def servers() -> list[str]:
        return [one.id for one in found.load().servers]

    assert servers() == ["u1"]
    project.write_text(SERVER.format("p1"))
    user.write_text(SERVER.format("u2"))
    assert servers() == ["u2"]
    (warning,) = found.load().warnings
    assert "never accepted: it does not count; read it, then `gatewright config trust" in str(
        warning
    )
    with pytest.raises(SettingsError, match="never accepted"):
        source(tmp_path).load()
    accept_file(project, home(tmp_path))
    assert servers() == ["p1", "u2"]
    project.write_text(SERVER.format("p2"))
    user.write_text(SERVER.format("u3"))
    assert servers() == ["p1", "u3"]
    (warning,) = found.load().warnings
    assert "changed since it was accepted: what was accepted before counts" in str(warning)
    assert str(project) in str(warning)
    accept_file(project, home(tmp_path))
    assert servers() == ["p2", "u3"]
    assert found.load().warnings == ()


def test_what_was_accepted_is_known_to_whoever_reads_files_later(tmp_path: Path) -> None:
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("a") + 'env = { A = "${file:token}" }\n')
    (tmp_path / "token").write_text("one")
    accept_file(project, home(tmp_path))
    settings = source(tmp_path).load()
    digest = hashlib.sha256(b"one").hexdigest()
    assert settings.accepted == {project: {str(tmp_path / "token"): digest}}
    assert source(tmp_path, config=project).load().accepted == {}


@pytest.mark.parametrize("text", ["[[servers]\n", "x = \xff\n", "a" * (1 << 21)])
def test_a_projects_file_that_cannot_be_read_keeps_no_other_from_being_read_again(
    tmp_path: Path, text: str
) -> None:
    """Nobody else's slip stops a user's own changes: it counts as it was accepted, and the error is named. What it is alone is told
    as an error, as is a user's own file."""
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(SERVER.format("u1"))
    project = tmp_path / "mgp.toml"
    found = source(tmp_path)
    assert [one.id for one in found.load().servers] == ["u1"]
    project.write_text(text, encoding="latin-1")
    user.write_text(SERVER.format("u2"))
    assert [one.id for one in found.load().servers] == ["u2"]
    (warning,) = found.load().warnings
    assert str(project) in str(warning)
    assert "it does not count" in str(warning)
    with pytest.raises(SettingsError):
        source(tmp_path).load()
    project.write_text(SERVER.format("p1"))
    accept_file(project, home(tmp_path))
    assert [one.id for one in found.load().servers] == ["p1", "u2"]
    project.write_text(text, encoding="latin-1")
    user.write_text(SERVER.format("u3"))
    assert [one.id for one in found.load().servers] == ["p1", "u3"]
    (warning,) = found.load().warnings
    assert "what was accepted before counts" in str(warning)
    user.write_text(text, encoding="latin-1")
    with pytest.raises(SettingsError, match=r"servers\.toml"):
        found.load()
    user.unlink()
    with pytest.raises(SettingsError, match=r"mgp\.toml"):
        found.load()


@pytest.mark.parametrize("text", [SERVER.format("p1"), SERVER.format("p2"), "[[servers]\n"])
@pytest.mark.parametrize("alone", [False, True])
def test_an_acceptance_that_was_taken_back_counts_no_longer(
    tmp_path: Path, text: str, *, alone: bool
) -> None:
    """`config untrust` says that the file is not used any more; nor does a broken one go on as it was."""
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text("" if alone else SERVER.format("u1"))
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("p1"))
    accept_file(project, home(tmp_path))
    found = source(tmp_path)
    assert "p1" in [one.id for one in found.load().servers]
    if alone:
        user.unlink()
    assert trust_of(home(tmp_path)).forget(place_of(project))
    project.write_text(text)
    settings = found.load()
    assert [one.id for one in settings.servers] == ([] if alone else ["u1"])
    (warning,) = settings.warnings
    assert "it does not count" in str(warning)
    project.write_text(SERVER.format("p3"))
    accept_file(project, home(tmp_path))
    assert "p3" in [one.id for one in found.load().servers]


def test_what_was_accepted_in_another_run_is_not_said_to_count(tmp_path: Path) -> None:
    """A gateway knows of an accepted file what it has read itself."""
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("p1"))
    accept_file(project, home(tmp_path))
    project.unlink()
    found = source(tmp_path)
    assert found.load().servers == ()
    project.write_text(SERVER.format("p2"))
    settings = found.load()
    assert settings.servers == ()
    (warning,) = settings.warnings
    assert "changed since it was accepted: it does not count" in str(warning)


@pytest.mark.parametrize(
    "flawed",
    ['[limits]\ncall_timeout_s = "x"\n', '[gateway]\nport = "x"\n', "[gateway]\nname = 5\n"],
)
def test_what_does_not_fit_in_a_projects_file_keeps_no_other_from_being_read_again(
    tmp_path: Path, flawed: str
) -> None:
    """Not all of an accepted file has to be accepted anew when it changes; it counts as it was read last without a flaw."""
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(SERVER.format("u1"))
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("p1") + "[limits]\ncall_timeout_s = 7\n")
    accept_file(project, home(tmp_path))
    found = source(tmp_path)
    assert found.load().warnings == ()
    project.write_text(SERVER.format("p1") + flawed)
    user.write_text(SERVER.format("u2"))
    for _ in range(2):
        settings = found.load()
        assert [one.id for one in settings.servers] == ["p1", "u2"]
        assert settings.limits.call_timeout_s == 7
        (warning,) = settings.warnings
        assert str(project) in str(warning)
        assert "does not fit here: what was accepted before counts" in str(warning)
        project.write_text("[[servers]\n")
        (warning,) = found.load().warnings
        assert "not TOML" in str(warning)
        project.write_text(SERVER.format("p1") + flawed)
    with pytest.raises(SettingsError, match=r"mgp\.toml:\d+: .* does not fit"):
        source(tmp_path).load()
    user.write_text("[[servers]]\nid = 5\n")
    with pytest.raises(SettingsError, match=r"servers\.toml"):
        found.load()
    user.unlink()
    with pytest.raises(SettingsError, match=r"mgp\.toml:\d+: .* does not fit"):
        found.load()


def test_a_flaw_in_a_projects_file_that_was_not_read_before_leaves_it_out(tmp_path: Path) -> None:
    user = tmp_path / "home" / ".config" / "mgp" / "servers.toml"
    user.parent.mkdir(parents=True)
    user.write_text(SERVER.format("u1"))
    found = source(tmp_path)
    found.load()
    project = tmp_path / "mgp.toml"
    project.write_text(SERVER.format("p1") + '[gateway]\nport = "x"\n')
    accept_file(project, home(tmp_path))
    user.write_text(SERVER.format("u2"))
    settings = found.load()
    assert [one.id for one in settings.servers] == ["u2"]
    (warning,) = settings.warnings
    assert "does not fit here: it does not count" in str(warning)


def test_files_that_any_table_names_are_told_as_long_as_it_can_be_read(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(
        '[[audit.sinks]]\nname = "a"\ntype = "http"\nurl = "https://a.example/${file:sub/token}"\n'
    )
    settings = FileSource(file, environ=home(tmp_path), cwd=tmp_path).load()
    assert [*named_files(settings)] == [tmp_path / "sub" / "token"]
    file.unlink()
    assert [*named_files(settings)] == []

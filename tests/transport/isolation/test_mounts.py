"""What bubblewrap is told to show, from the options alone: nothing is started here."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from gatewright.transport.isolation.mounts import HOME, mounts
from gatewright.transport.isolation.rules import CannotIsolate, Isolation, Kept


def options(tmp_path: Path, *args: str, program: str = "/usr/bin/env", **rules: Any) -> list[str]:
    given = {"server": "a", "level": "strict", "state": str(tmp_path / "state"), **rules}
    return mounts(Isolation(**given), program, args, "/usr/bin:/bin", str(tmp_path / "here"))


def bound(found: list[str], how: str) -> list[str]:
    return [found[at + 2] for at, one in enumerate(found) if one == how]


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "me").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "me"))


def program(path: Path, text: str = "#!/bin/sh\n") -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_nothing_but_the_system_is_there_unless_it_is_named(tmp_path: Path) -> None:
    found = options(tmp_path)
    assert bound(found, "--bind") == []
    shown = {
        one
        for one in bound(found, "--ro-bind")
        if not one.startswith(("/usr", "/lib", "/bin", "/sbin", "/nix", "/etc", "/proc"))
    }
    assert shown == set()
    assert not {"/etc/passwd", "/etc/shadow", "/etc/hosts", "/root", "/home"} & set(found)


def test_folders_are_shown_as_they_are_named(tmp_path: Path) -> None:
    for name in ("read", "work", "work/fixed"):
        (tmp_path / name).mkdir()
    places: dict[str, Any] = {
        "read": (f"{tmp_path}/read", f"{tmp_path}/work/fixed"),
        "write": (f"{tmp_path}/work",),
    }
    found = options(tmp_path, level="confined", **places)
    assert bound(found, "--bind") == [f"{tmp_path}/work", HOME]
    order = [one for one in found if one.startswith(f"{tmp_path}/work")]
    assert order.index(f"{tmp_path}/work") < order.index(f"{tmp_path}/work/fixed")


def test_temporary_files_have_their_size(tmp_path: Path) -> None:
    found = options(tmp_path, tmp_bytes=12345678)
    for folder in ("/tmp", "/dev/shm"):
        at = found.index("12345678")
        assert found[at - 1] == "--size"
        at = max(n for n, one in enumerate(found) if one == folder and found[n - 1] == "--tmpfs")
        assert found[at - 3 : at] == ["--size", "12345678", "--tmpfs"]


def test_kernel_settings_are_read_only(tmp_path: Path) -> None:
    assert "/proc/sys" in bound(options(tmp_path), "--ro-bind")


def test_names_are_looked_up_only_where_there_is_a_network(tmp_path: Path) -> None:
    assert "/etc/resolv.conf" not in options(tmp_path)
    assert "/etc/resolv.conf" in options(tmp_path, network=True, level="confined")


@pytest.mark.parametrize("place", ["/", "/proc", "/etc", "/tmp/", "/dev/../sys"])
def test_the_whole_of_a_machine_is_never_shown(tmp_path: Path, place: str) -> None:
    with pytest.raises(CannotIsolate, match="more than"):
        options(tmp_path, read=(place,))


def test_a_folder_that_is_not_there_keeps_the_server_down(tmp_path: Path) -> None:
    with pytest.raises(CannotIsolate, match=r"there is no .*gone"):
        options(tmp_path, read=(str(tmp_path / "gone"),))


def test_configuration_and_state_are_hidden_in_folders_that_are_shown(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "state").mkdir(parents=True)
    (work / "mgp.toml").write_text("secret")
    hidden = (f"{work}/state", f"{work}/mgp.toml", f"{tmp_path}/me")
    found = options(tmp_path, write=(str(work),), level="confined", hidden=hidden)
    text = " ".join(found)
    assert f"--tmpfs {work}/state --remount-ro {work}/state" in text
    assert f"{work}/mgp.toml" not in text
    assert text.index(f"--tmpfs {work} ") < text.index(f"--tmpfs {work}/state")
    assert f"--tmpfs {tmp_path}/me" not in text


def test_what_is_hidden_is_hidden_under_every_name_of_its_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "mgp.toml").write_text("secret")
    (work / "kept").write_text("x")
    (tmp_path / "link").symlink_to(work)
    (tmp_path / "my.toml").symlink_to(work / "mgp.toml")
    hidden = (f"{tmp_path}/my.toml",)
    text = " ".join(options(tmp_path, read=(f"{tmp_path}/link",), hidden=hidden))
    assert "mgp.toml" not in text
    assert f"--tmpfs {tmp_path}/link --ro-bind-try {work}/kept {tmp_path}/link/kept" in text


def test_a_folder_with_a_hidden_file_is_its_other_entries_each_as_it_may_be_used(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    (work / "fixed" / "deep").mkdir(parents=True)
    (work / "sub").mkdir()
    (work / "mgp.toml").write_text("secret")
    (work / "notes").write_text("x")
    (work / "link").symlink_to("sub")
    hidden = (f"{work}/mgp.toml", f"{work}/later.toml")
    read, write = (f"{work}/fixed",), (str(tmp_path / "work"), f"{work}/fixed/deep")
    found = options(tmp_path, level="confined", read=read, write=write, hidden=hidden)
    at = next(n for n in range(len(found)) if found[n : n + 2] == ["--tmpfs", str(work)])
    assert found[at : found.index("--remount-ro", at) + 2] == [
        *("--tmpfs", str(work)),
        *("--ro-bind-try", f"{work}/fixed", f"{work}/fixed"),
        *("--symlink", "sub", f"{work}/link"),
        *("--bind-try", f"{work}/notes", f"{work}/notes"),
        *("--bind-try", f"{work}/sub", f"{work}/sub"),
        *("--remount-ro", str(work)),
    ]
    assert found.index(f"{work}/fixed/deep") > found.index("--remount-ro", at)


def test_the_folder_above_that_of_a_hidden_file_is_shown_without_it(tmp_path: Path) -> None:
    work = tmp_path / "above" / "work"
    work.mkdir(parents=True)
    (work / "mgp.toml").write_text("secret")
    (work / "notes").write_text("x")
    hidden = (f"{work}/mgp.toml",)
    found = options(tmp_path, level="confined", write=(str(work.parent),), hidden=hidden)
    text = " ".join(found)
    assert f"--bind {work.parent} {work.parent}" in text
    assert f"--tmpfs {work} --bind-try {work}/notes {work}/notes --remount-ro {work}" in text


def test_a_hidden_file_that_is_named_itself_is_not_shown(tmp_path: Path) -> None:
    secret = tmp_path / "mgp.toml"
    secret.write_text("secret")
    (tmp_path / "link").symlink_to(secret)
    for name in (secret, tmp_path / "link"):
        assert str(name) not in options(tmp_path, read=(str(name),), hidden=(str(secret),))


def test_a_folder_with_a_hidden_file_and_a_crowd_of_others_keeps_the_server_down(
    tmp_path: Path,
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for name in (*map(str, range(201)), "mgp.toml"):
        (work / name).touch()
    with pytest.raises(CannotIsolate, match="name the folders in it instead"):
        options(tmp_path, read=(str(work),), hidden=(f"{work}/mgp.toml",))


def test_a_script_elsewhere_is_not_shown_where_folders_are_said(tmp_path: Path) -> None:
    mine, other = tmp_path / "here" / "mine", tmp_path / "here" / "other"
    for folder in (mine, other):
        program(folder / "server.js")
    (mine / "linked.js").symlink_to(other / "server.js")
    (other / "back.js").symlink_to(mine / "server.js")
    said: dict[str, Any] = {"scripts": (str(mine),)}
    assert str(mine) in bound(options(tmp_path, "mine/server.js", **said), "--ro-bind")
    for name in ("other/server.js", "no/../other/server.js", "other/back.js"):
        assert str(other) in bound(options(tmp_path, name), "--ro-bind"), name
        assert str(other) not in bound(options(tmp_path, name, **said), "--ro-bind"), name


def test_the_folder_of_a_script_is_shown(tmp_path: Path) -> None:
    script = tmp_path / "here" / "src" / "server.py"
    program(script)
    assert str(script.parent) in bound(options(tmp_path, "-u", "src/server.py"), "--ro-bind")
    code = "import sys\n" * 1000
    assert bound(options(tmp_path, "-c", code), "--ro-bind") == bound(
        options(tmp_path), "--ro-bind"
    )


def test_of_a_home_folder_only_the_script_is(tmp_path: Path) -> None:
    script = program(tmp_path / "me" / "server.py")
    found = bound(options(tmp_path, script), "--ro-bind")
    assert script in found
    assert str(tmp_path / "me") not in found


@pytest.mark.parametrize("named", ["read", "write", "cwd"])
def test_a_place_behind_a_link_that_a_server_may_change_keeps_it_down(
    tmp_path: Path, named: str
) -> None:
    work, other = tmp_path / "work", tmp_path / "other" / "data"
    work.mkdir()
    other.mkdir(parents=True)
    (work / "link").symlink_to(other.parent)
    place = f"{work}/link/data"
    given: dict[str, Any] = {"level": "confined", "write": (str(work),)}
    if named == "cwd":
        (tmp_path / "here").symlink_to(place)
        given["read"] = (f"{tmp_path}/here",)  # as a `cwd` that is written
    else:
        given[named] = (*given.get(named, ()), place)
    with pytest.raises(CannotIsolate, match=r"work/link, which leads to .* is a link in a folder"):
        options(tmp_path, **given)
    given["changed_by_others"] = given.pop("write")[:1]
    if named == "read":
        with pytest.raises(CannotIsolate, match="name what it leads to"):
            options(tmp_path, **given)


def test_a_home_that_cannot_be_made_keeps_the_server_down(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(CannotIsolate, match="cannot be made"):
        options(tmp_path, level="confined")


def test_a_circle_of_links_that_another_server_made_keeps_only_whom_it_concerns_down(
    tmp_path: Path,
) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "data").mkdir()
    (tmp_path / "w" / "b").symlink_to("b")
    others = (str(tmp_path / "w"), str(tmp_path / "w" / "b"))
    place = f"{tmp_path}/data"
    found = options(tmp_path, level="confined", write=(place,), changed_by_others=others)
    assert place in bound(found, "--bind")
    with pytest.raises(CannotIsolate):
        options(tmp_path, level="confined", write=(others[1],), changed_by_others=others)


def environment(tmp_path: Path) -> tuple[str, Path]:
    """The `python` of an environment of uv, and the folder of its interpreters: a link for each minor version leads on."""
    uv = tmp_path / "uv" / "python"
    program(uv / "cpython-3.12.8" / "bin" / "python3.12", "ELF")
    (uv / "cpython-3.12.8" / "lib" / "python3.12").mkdir(parents=True)
    (uv / "cpython-3.12").symlink_to("cpython-3.12.8")
    venv = tmp_path / "proj" / ".venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "pyvenv.cfg").touch()
    (venv / "bin" / "python").symlink_to(uv / "cpython-3.12" / "bin" / "python3.12")
    return str(venv / "bin" / "python"), uv


def test_a_program_that_another_server_could_lead_elsewhere_is_refused_with_whose_write_it_is(
    tmp_path: Path,
) -> None:
    python, uv = environment(tmp_path)
    given: dict[str, Any] = {"program": python, "level": "confined"}
    assert f"{uv}/cpython-3.12/bin" in options(tmp_path, **given)
    given["changed_by_others"] = (str(uv.parent),)
    said = (
        rf"{python} leads to .* by {uv}/cpython-3.12, which another .* `write` names {uv.parent};"
    )
    with pytest.raises(CannotIsolate, match=said):
        options(tmp_path, **given)
    real = f"{uv}/cpython-3.12.8/bin/python3.12"
    assert f"{uv}/cpython-3.12.8/bin" in options(tmp_path, **{**given, "program": real})


def test_a_link_on_the_way_to_what_is_kept_leads_where_it_leads(tmp_path: Path) -> None:
    """It is the same in the sandbox of each server: the gateway's own interpreter is such a one."""
    python, uv = environment(tmp_path)
    given: dict[str, Any] = {"program": python, "changed_by_others": (str(uv.parent),)}
    kept = (Kept(f"{uv}/cpython-3.12/bin/python3.12"),)
    assert f"{uv}/cpython-3.12/bin" in options(tmp_path, kept=kept, **given)


def test_an_interpreter_that_is_not_shown_is_named(tmp_path: Path) -> None:
    """prlimit said that there is no such program."""
    python, uv = environment(tmp_path)
    work = tmp_path / "proj"
    isolation = Isolation(server="a", level="confined", state=str(tmp_path / "state"), write=(str(work),))  # fmt: skip
    path = f"{work}/.venv/bin:/usr/bin"
    lacks = f"{python} needs {uv}/cpython-3.12/bin/python3.12, which it is not shown; name {uv}/cpython-3.12 in `read` if it is you who wrote that .*, or write the full path"  # fmt: skip
    with pytest.raises(CannotIsolate, match=lacks):
        mounts(isolation, python, (), path, str(tmp_path / "here"), searched=True)
    found = mounts(isolation, python, (), path, str(tmp_path / "here"))
    assert f"{uv}/cpython-3.12" in found
    script = program(tmp_path / "tool", f"#!{tmp_path}/gone\n")
    with pytest.raises(CannotIsolate, match=r"gone, which is not there$"):
        options(tmp_path, program=script)


def test_an_interpreter_that_env_finds_and_the_sandbox_does_not_show_is_refused_with_what_to_do(
    tmp_path: Path,
) -> None:
    """The full path as `command` is there already; in a folder that the child writes to nothing is followed."""
    work, node = tmp_path / "work", program(tmp_path / "own" / "bin" / "own-node", "ELF")
    script = program(work / "server", "#!/usr/bin/env own-node\n")
    isolation = Isolation(server="a", level="confined", state=str(tmp_path / "state"), write=(str(work),))  # fmt: skip
    said = rf"{script} needs {node}, which it is not shown; name .* in `read` .*, or set PATH in `env` so that own-node is "
    with pytest.raises(CannotIsolate, match=said):
        mounts(isolation, script, (), f"{Path(node).parent}:/usr/bin", str(tmp_path / "here"), searched=True)  # fmt: skip


def test_what_can_only_be_read_in_a_place_to_write_to_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A project that is installed editable into the gateway's environment was read-only without a word."""
    (tmp_path / "work" / "src").mkdir(parents=True)
    caplog.set_level("INFO")
    kept = (Kept(f"{tmp_path}/work/src", "where modules are"),)
    options(tmp_path, level="confined", write=(f"{tmp_path}/work",), kept=kept)
    said = f"server a can read {tmp_path}/work/src, and not change it: it is where modules are"
    assert [one.getMessage() for one in caplog.records] == [said]


def test_the_whole_of_a_machine_is_not_shown_through_a_link_either(tmp_path: Path) -> None:
    (tmp_path / "all").symlink_to("/")
    with pytest.raises(CannotIsolate, match="more than"):
        options(tmp_path, read=(f"{tmp_path}/all",))


def test_a_folder_that_somebody_closed_keeps_the_server_down_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another server that may write there runs as the same user, and can close it."""
    place, real = tmp_path / "data", os.stat

    def refuses(path: int | str | Path, *args: Any, **more: Any) -> os.stat_result:
        if path == place:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **more)

    monkeypatch.setattr(os, "stat", refuses)
    with pytest.raises(CannotIsolate, match=r"cannot be looked at: .*Permission denied: '.*data'"):
        options(tmp_path, read=(str(place),))

"""What is mounted over the places, as options: what a child can do with that is tried in `test_start_layouts`."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gatewright.transport.isolation.coverings import Coverings, Shown, _mounted_within
from gatewright.transport.isolation.rules import CannotIsolate, Kept


def mounted(found: Coverings) -> list[tuple[str, str]]:
    """(how, place) of each mount, in order."""
    words, told = [*found.options()], []
    for at, word in enumerate(words):
        if word.removesuffix("-try") in ("--bind", "--ro-bind"):
            told.append((word.removesuffix("-try"), words[at + 2]))
        elif word in ("--tmpfs", "--remount-ro"):
            told.append((word, words[at + 1]))
    return told


def work(tmp_path: Path, *folders: str) -> Path:
    found = tmp_path / "work"
    for one in ("", *folders):
        (found / one).mkdir(parents=True, exist_ok=True)
    return found


def shown(*places: Path, writable: bool = True) -> Coverings:
    return Coverings([Shown(str(one), one.resolve(), writable) for one in places])


def test_every_folder_above_a_hidden_file_is_a_mount(tmp_path: Path) -> None:
    one = work(tmp_path, "a/b/c/kept")
    found = shown(one)
    found.hide(one / "a" / "b" / "c" / "mgp.toml")
    assert mounted(found) == [
        ("--bind", f"{one}"),
        ("--bind", f"{one}/a"),
        ("--bind", f"{one}/a/b"),
        ("--tmpfs", f"{one}/a/b/c"),
        ("--bind", f"{one}/a/b/c/kept"),
        ("--remount-ro", f"{one}/a/b/c"),
    ]


def test_what_can_only_be_read_needs_no_mounts_above(tmp_path: Path) -> None:
    one = work(tmp_path, "a/b")
    found = shown(one, writable=False)
    found.hide(one / "a" / "b" / "state", folder=True)
    assert mounted(found) == [
        ("--ro-bind", f"{one}"),
        ("--tmpfs", f"{one}/a/b/state"),
        ("--remount-ro", f"{one}/a/b/state"),
    ]


def test_a_file_that_is_not_there_is_no_reason_for_a_view_of_what_can_only_be_read(
    tmp_path: Path,
) -> None:
    """Nobody in there can make it; so a folder of any size can be shown, and as it is now."""
    one = work(tmp_path, "a")
    for number in range(250):
        (one / f"f{number}").touch()
    found = shown(one, writable=False)
    found.hide(one / "mgp.toml")
    found.hide(one / "a" / "mgp.toml")
    assert mounted(found) == [("--ro-bind", f"{one}")]
    (one / "a" / "mgp.toml").touch()
    found.hide(one / "a" / "mgp.toml")
    assert ("--tmpfs", f"{one}/a") in mounted(found)


def test_missing_folders_on_the_way_are_made(tmp_path: Path) -> None:
    one = work(tmp_path)
    found = shown(one)
    found.hide(one / ".config" / "mgp" / "servers.toml")
    found.hide(one / ".local" / "state", folder=True)
    found.hide(tmp_path / "elsewhere" / "state", folder=True)
    made = {str(path.relative_to(one)): path.stat().st_mode & 0o777 for path in one.rglob("*")}
    names = (".config", ".config/mgp", ".local", ".local/state")
    assert made == dict.fromkeys(names, 0o700)
    assert not (tmp_path / "elsewhere").exists()
    assert ("--bind", f"{one}/.config") in mounted(found)
    assert ("--tmpfs", f"{one}/.config/mgp") in mounted(found)
    assert ("--tmpfs", f"{one}/.local/state") in mounted(found)


def test_nothing_is_made_for_a_file_where_it_can_only_be_read(tmp_path: Path) -> None:
    """A hidden folder is made there, too: what comes into it later would be seen."""
    one = work(tmp_path)
    found = shown(one, writable=False)
    found.hide(one / ".config" / "mgp" / "servers.toml")
    assert [*one.iterdir()] == []
    assert mounted(found) == [("--ro-bind", f"{one}")]
    found.hide(one / "state", folder=True)
    assert ("--tmpfs", f"{one}/state") in mounted(found)


def test_folders_that_root_makes_belong_to_whom_the_folder_around_them_belongs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[tuple[str, int, int]] = []

    def gives(descriptor: int, user: int, group: int) -> None:
        given.append((str(Path(f"/proc/self/fd/{descriptor}").readlink()), user, group))

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(os, "fchown", gives)
    one = work(tmp_path)
    shown(one).hide(one / ".config" / "mgp" / "servers.toml")
    owner, made = one.stat(), [one / ".config", one / ".config" / "mgp"]
    assert given == [(str(each), owner.st_uid, owner.st_gid) for each in made]
    assert {each.stat().st_mode & 0o777 for each in made} == {0o700}


def test_a_file_in_the_place_of_a_folder_on_the_way_keeps_the_server_down(tmp_path: Path) -> None:
    one = work(tmp_path)
    (one / ".config").touch()
    with pytest.raises(CannotIsolate, match=r"\.config is no folder"):
        shown(one).hide(one / ".config" / "mgp" / "servers.toml")
    shown(one, writable=False).hide(one / ".config" / "mgp" / "servers.toml")


def test_the_folder_of_a_link_on_the_way_is_a_view(tmp_path: Path) -> None:
    """A link is no mount point."""
    one = work(tmp_path, "dots", "rest")
    (one / ".config").symlink_to("dots")
    found = shown(one)
    found.hide(one / ".config" / "mgp.toml")
    options = [*found.options()]
    assert options[options.index("--symlink") + 1 :][:2] == ["dots", f"{one}/.config"]
    assert mounted(found) == [
        ("--tmpfs", f"{one}"),
        ("--bind", f"{one}/dots"),
        ("--bind", f"{one}/rest"),
        ("--remount-ro", f"{one}"),
        ("--tmpfs", f"{one}/dots"),
        ("--remount-ro", f"{one}/dots"),
    ]


def test_a_named_place_that_is_a_link_in_a_view_is_mounted(tmp_path: Path) -> None:
    one, out = work(tmp_path), tmp_path / "data"
    out.mkdir()
    (one / "out").symlink_to(out)
    (one / "other").symlink_to(out)
    (one / "mgp.toml").touch()
    found = Coverings([Shown(str(one), one, False), Shown(f"{one}/out", out, True)])
    found.hide(one / "mgp.toml")
    options = [*found.options()]
    assert ["--bind", str(out), f"{one}/out"] == options[options.index("--bind") :][:3]
    assert options[options.index("--symlink") + 1 :][:2] == [str(out), f"{one}/other"]
    assert options.count(f"{one}/out") == 1


def test_every_link_of_a_chain_is_hidden(tmp_path: Path) -> None:
    one = work(tmp_path, "a", "b")
    (one / "mgp.toml").symlink_to("a/two")
    (one / "a" / "two").symlink_to(one / "b" / "three")
    found = shown(one)
    found.hide(one / "mgp.toml")
    assert "--symlink" not in [*found.options()]
    assert {("--tmpfs", f"{one}/{name}") for name in "ab"} <= {*mounted(found)}


def test_what_is_kept_can_be_read_and_not_changed(tmp_path: Path) -> None:
    one = work(tmp_path, "a/tools", "b")
    for name in ("a/rules.toml", "a/notes"):
        (one / name).touch()
    found = shown(one)
    for name in ("a/rules.toml", "a/later.toml", "a/tools"):
        found.keep(Kept(str(one / name)))
    assert mounted(found) == [
        ("--bind", f"{one}"),
        ("--tmpfs", f"{one}/a"),
        ("--bind", f"{one}/a/notes"),
        ("--ro-bind", f"{one}/a/rules.toml"),
        ("--ro-bind", f"{one}/a/tools"),
        ("--remount-ro", f"{one}/a"),
        ("--ro-bind", f"{one}/a/tools"),
    ]
    reading = shown(one, writable=False)
    reading.keep(Kept(str(one / "a" / "rules.toml")))
    assert mounted(reading) == [("--ro-bind", f"{one}")]
    named = shown(one / "a" / "rules.toml", writable=False)
    named.keep(Kept(str(one / "a" / "rules.toml")))
    assert mounted(named) == [("--ro-bind", f"{one}/a/rules.toml")]


def test_files_that_are_called_after_what_is_kept_are_kept_with_it(tmp_path: Path) -> None:
    """Rotated ones, and the journals that SQLite would carry out."""
    one = work(tmp_path, "a.jsonl.d")
    for name in ("a.jsonl", "a.jsonl.000000000007", "a.jsonl-wal", "a.jsonlines", "b"):
        (one / name).touch()
    found = shown(one)
    found.keep(Kept(str(one / "a.jsonl")))
    assert {name.rpartition("/")[2] for how, name in mounted(found) if how == "--bind"} == {
        *("a.jsonlines", "b", "a.jsonl.d"),
    }


def test_a_place_within_what_may_be_changed_stays_where_it_is(tmp_path: Path) -> None:
    one = work(tmp_path, "a/b/fixed")
    fixed = one / "a" / "b" / "fixed"
    found = Coverings([Shown(str(one), one, True), Shown(str(fixed), fixed, False)])
    found.nest(str(fixed))
    assert mounted(found) == [
        ("--bind", f"{one}"),
        ("--bind", f"{one}/a"),
        ("--bind", f"{one}/a/b"),
        ("--ro-bind", f"{fixed}"),
    ]


def test_nothing_within_a_hidden_folder_may_be_changed_but_a_home(tmp_path: Path) -> None:
    state = work(tmp_path, "isolated/a")
    inner = state / "isolated" / "a"
    with pytest.raises(CannotIsolate, match=r"is in .*work, which is hidden"):
        shown(inner).hide(state, folder=True)
    home = Coverings([Shown("/home/server", inner, writable=True, own=True)])
    home.hide(state, folder=True)
    assert mounted(home) == [("--bind", "/home/server")]
    itself = shown(state)
    itself.hide(state, folder=True)
    assert mounted(itself) == [("--tmpfs", f"{state}"), ("--remount-ro", f"{state}")]


def test_what_is_in_a_hidden_folder_is_not_mounted(tmp_path: Path) -> None:
    one = work(tmp_path, "state/tools")
    found = Coverings([Shown(str(one), one, True), Shown(f"{one}/state/tools", one / "state" / "tools", False)])  # fmt: skip
    found.hide(one / "state", folder=True)
    found.hide(one / "state" / "trust.json")
    found.nest(f"{one}/state/tools")
    assert mounted(found) == [
        ("--bind", f"{one}"),
        ("--tmpfs", f"{one}/state"),
        ("--remount-ro", f"{one}/state"),
    ]


def test_what_the_system_mounts_below_a_place_is_looked_through(tmp_path: Path) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(
        f"1 0 0:1 / / rw - ext4 x rw\n2 1 0:2 / {tmp_path}/a\\040b/c rw - ext4 x rw\n3 1 0:3 / {tmp_path}/d rw - ext4 x rw\n"
    )
    place = Shown("/shown", tmp_path / "a b", writable=True)
    assert [*_mounted_within([place], str(table))] == [
        Shown("/shown/c", tmp_path / "a b" / "c", writable=True)
    ]
    assert [*_mounted_within([place], str(tmp_path / "none"))] == []


def test_a_place_to_write_to_that_is_the_gateway_s_own_code_is_refused_by_name(
    tmp_path: Path,
) -> None:
    """It was shown for reading, and each write failed without a word."""
    one = work(tmp_path, "data")
    with pytest.raises(CannotIsolate, match=r"work, which `write` names, is what the gateway reads because.*name folders in it"):  # fmt: skip
        shown(one).keep(Kept(str(one)))
    shown(one, writable=False).keep(Kept(str(one)))
    found = shown(one / "data")
    found.keep(Kept(str(one)))
    assert mounted(found) == [("--bind", f"{one}/data")]


def test_a_record_that_fills_files_for_years_keeps_no_server_down(tmp_path: Path) -> None:
    one = work(tmp_path)
    (one / "audit.jsonl").touch()
    (one / "own").touch()
    for at in range(300):
        (one / f"audit.jsonl.{at:03}").touch()
    found = shown(one)
    found.keep(Kept(str(one / "audit.jsonl")))
    names = {name: how for how, name in mounted(found)}
    assert (names[f"{one}/own"], names[f"{one}/audit.jsonl"]) == ("--bind", "--ro-bind")
    assert len(names) <= 202
    for at in range(300):
        (one / f"other{at}").touch()
    with pytest.raises(CannotIsolate, match="hidden or kept from it"):
        mounted(found)


def test_where_all_is_code_no_folder_in_it_can_be_written_to(tmp_path: Path) -> None:
    one = work(tmp_path, "lib/data", "beside")
    code = Kept(str(one / "lib"), "the code", whole=True)
    for place in (one / "lib", one / "lib" / "data"):
        with pytest.raises(CannotIsolate, match=r"which `write` names, is (in .*work/lib, )?the code; name another folder"):  # fmt: skip
            shown(place).keep(code)
    reading = shown(one / "lib" / "data", writable=False)
    reading.keep(code)
    assert mounted(reading) == [("--ro-bind", f"{one}/lib/data")]
    found = shown(one)
    found.keep(code)
    assert mounted(found) == [("--bind", f"{one}"), ("--ro-bind", f"{one}/lib")]
    assert found.fixed == {f"{one}/lib": code}


def test_a_place_between_what_is_kept_and_what_is_kept_in_it_leaves_both_as_they_are(
    tmp_path: Path,
) -> None:
    """The folder on the path of modules is above the project, and the environment is in it."""
    home = work(tmp_path, "proj/.venv")
    found = shown(home / "proj")
    for kept in (Kept(str(home)), Kept(str(home / "proj" / ".venv"))):
        found.keep(kept)
    assert mounted(found) == [("--bind", f"{home}/proj"), ("--ro-bind", f"{home}/proj/.venv")]


def test_another_name_of_what_is_kept_is_refused_as_well(tmp_path: Path) -> None:
    """A hard link; and a folder that is mounted elsewhere, which has the same device and inode."""
    one = work(tmp_path)
    (one / "code.py").touch()
    (one / "other").hardlink_to(one / "code.py")
    with pytest.raises(CannotIsolate, match="other, which `write` names, is what"):
        shown(one / "other").keep(Kept(str(one / "code.py")))


def test_a_state_folder_that_is_a_link_to_the_parent_of_something_is_covered(
    tmp_path: Path,
) -> None:
    one = work(tmp_path, "real/deep")
    (tmp_path / "state").symlink_to(one / "real" / "deep" / "..")
    found = shown(one)
    found.hide(tmp_path / "state", folder=True)
    assert ("--tmpfs", f"{one}/real") in mounted(found)
    kept = shown(one)
    kept.keep(Kept(str(one / "real" / "deep" / "..")))
    assert ("--ro-bind", f"{one}/real") in mounted(kept)


def test_a_folder_of_many_files_beside_what_is_kept_is_looked_through_at_once(
    tmp_path: Path,
) -> None:
    """It took four seconds for 20,000 of them, with everybody waiting."""
    one = work(tmp_path)
    for at in range(12_000):
        (one / f"audit.jsonl.{at:05}").touch()
    found = shown(one)
    found.keep(Kept(str(one / "audit.jsonl")))
    began = time.process_time()
    assert len(mounted(found)) <= 202
    assert time.process_time() - began < 0.5

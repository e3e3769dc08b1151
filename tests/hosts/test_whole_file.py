"""A host's file is read whole and replaced in one step; its mode, its links and its neighbours stay."""

import os
import stat
from pathlib import Path

import pytest

from gatewright.hosts.model import CannotRead
from gatewright.hosts.whole_file import (
    CannotEdit,
    Unreadable,
    read_text,
    remove_folders,
    replace_text,
)


def test_a_text_comes_as_it_is_and_no_file_is_none(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    assert read_text(file) is None
    file.write_bytes(b"\xef\xbb\xbf{}\r\n")
    assert read_text(file) == "\ufeff{}\r\n"


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_bytes(b'{\n"a": "\xff"}')
    with pytest.raises(Unreadable, match="line 2: not UTF-8"):
        read_text(file)
    with pytest.raises(CannotRead, match="not a regular file"):
        read_text(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CannotRead, match="not a regular file"):
        read_text(tmp_path / "pipe")


def test_a_file_beyond_the_bound_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    with file.open("wb") as opened:
        opened.truncate(16 * 1024 * 1024 + 1)
    with pytest.raises(CannotRead, match="16 MB"):
        read_text(file)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o640])
def test_the_mode_stays(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")
    file.chmod(mode)
    assert replace_text(file, "new", expected="old", private=True) == []
    assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)
    assert [one.name for one in tmp_path.iterdir()] == ["a.json"]


def test_a_new_file_has_its_folders_and_its_mode(tmp_path: Path) -> None:
    file = tmp_path / "one" / "two" / "a.json"
    made = replace_text(file, "new", expected=None, private=True)
    assert made == [tmp_path / "one" / "two", tmp_path / "one"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    replace_text(tmp_path / "b.json", "new", expected=None, private=False)
    assert stat.S_IMODE((tmp_path / "b.json").stat().st_mode) == 0o644
    replace_text(file, None, expected="new", private=True)
    remove_folders(made)
    assert [one.name for one in tmp_path.iterdir()] == ["b.json"]


def test_a_folder_with_something_in_it_stays(tmp_path: Path) -> None:
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "other").write_text("")
    remove_folders([folder])
    assert folder.is_dir()


@pytest.mark.parametrize("text", ["old", None])
def test_a_link_stays_a_link(tmp_path: Path, text: str | None) -> None:
    target, link = tmp_path / "dotfiles" / "a.json", tmp_path / "a.json"
    target.parent.mkdir()
    if text is not None:
        target.write_text(text)
    link.symlink_to(target)
    replace_text(link, "new", expected=text, private=True)
    assert (link.is_symlink(), target.is_symlink(), target.read_text()) == (True, False, "new")
    replace_text(link, None, expected="new", private=True)
    assert (link.is_symlink(), target.exists()) == (True, False)


def test_what_somebody_wrote_meanwhile_is_not_lost(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("theirs")
    for expected in ("old", None):
        with pytest.raises(CannotEdit, match="changed in the meantime"):
            replace_text(file, "new", expected=expected, private=True)
    assert file.read_text() == "theirs"


def test_a_failure_leaves_the_file_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.json"
    file.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        replace_text(file, "new", expected="old", private=True)
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("a.json", "old")]

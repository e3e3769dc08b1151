"""Files replaced as a whole."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.storage.private_file import alone, replace_file, replace_from_parts


def test_a_file_is_made_for_its_owner_alone_with_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "below" / "file"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert list(path.parent.iterdir()) == [path]


def test_a_mode_can_be_asked_for(tmp_path: Path) -> None:
    replace_file(tmp_path / "file", b"", mode=0o644)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def test_what_fails_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    (taken / "inside").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        replace_file(taken, b"new")
    assert list(tmp_path.iterdir()) == [taken]


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    file = tmp_path / "record"
    replace_file(file, b"before")

    def fails(*_: object) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(os, "fsync", fails) if step == "fsync" else monkeypatch.setattr(
        Path, "replace", fails
    )
    with pytest.raises(OSError, match="no space left"):
        replace_file(file, b"after")
    assert [(one.name, one.read_bytes()) for one in tmp_path.iterdir()] == [("record", b"before")]


def test_a_file_from_parts_is_replaced_whole_and_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "f"
    (tmp_path / "f.draft").write_text("left of another")
    for parts in ([b"one", b"two"], [b"three"]):
        replace_from_parts(file, parts)
        assert file.read_bytes() == b"".join(parts)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_what_is_there_stays_where_a_part_fails(tmp_path: Path) -> None:
    file = tmp_path / "f"
    replace_from_parts(file, [b"old"])

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        replace_from_parts(file, parts())
    assert file.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_one_after_the_other_is_inside(tmp_path: Path) -> None:
    count = tmp_path / "count"
    count.write_text("0")

    def add() -> None:
        for _ in range(50):
            with alone(tmp_path / "below" / "lock"):
                replace_file(count, str(int(count.read_text()) + 1).encode())

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert count.read_text() == "200"

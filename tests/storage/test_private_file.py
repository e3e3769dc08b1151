"""Files replaced as a whole."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from gatewright.storage.private_file import alone, replace_file


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

"""Only regular files of bearable size are read, and what is wrong has a name."""

import os
from pathlib import Path

import pytest

from gatewright.hosts.model import CannotRead
from gatewright.hosts.whole_file import MAX_BYTES, read_bytes


def _kind(path: Path) -> str:
    with pytest.raises(CannotRead) as found:
        read_bytes(path)
    assert found.value.instead
    return found.value.kind


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"x" * 100_000)
    assert read_bytes(path) == b"x" * 100_000


def test_what_is_no_file_is_named(tmp_path: Path) -> None:
    assert _kind(tmp_path / "none") == "missing"
    assert _kind(tmp_path) == "not-regular"
    assert _kind(tmp_path / "a\0b") == "unreadable"
    assert _kind(Path(os.devnull)) == "not-regular"


def test_a_pipe_is_refused_without_waiting_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert _kind(tmp_path / "pipe") == "not-regular"


def test_a_link_to_a_device_is_no_regular_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(os.devnull)
    assert _kind(tmp_path / "link") == "not-regular"


def test_a_file_without_end_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert _kind(path) == "too-large"
    os.truncate(path, MAX_BYTES)
    assert len(read_bytes(path)) == MAX_BYTES

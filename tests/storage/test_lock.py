"""One gateway for one folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.storage.errors import StoreBusyError, StoreError
from gatewright.storage.lock import FolderLock, has_recorded

HOLDER = """
import sys
from pathlib import Path
from gatewright.storage.lock import FolderLock
lock = FolderLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.read()
"""


def test_a_second_holder_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    first = FolderLock(tmp_path / "state")
    with pytest.raises(StoreBusyError, match=rf"another gateway \(process {os.getpid()}\) uses"):
        FolderLock(tmp_path / "state")
    first.release()


def test_a_released_folder_can_be_taken_again(tmp_path: Path) -> None:
    FolderLock(tmp_path).release()
    second = FolderLock(tmp_path)
    assert (tmp_path / "lock").read_text() == f"{os.getpid()}\n"
    second.release()


def test_the_folder_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"held\n"
        with pytest.raises(StoreBusyError, match=f"process {child.pid}"):
            FolderLock(tmp_path)
        child.kill()
        child.wait(20)
    FolderLock(tmp_path).release()
    assert (tmp_path / "lock").read_text() == ""


def test_the_folder_and_the_lock_belong_to_their_owner_alone(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "state"
    lock = FolderLock(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "lock").stat().st_mode & 0o777 == 0o600
    lock.release()


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match="cannot be used"):
        FolderLock(tmp_path / "state")


@pytest.mark.parametrize("written", [-1, 0, 3])
def test_a_full_disk_takes_away_no_mark_of_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: int
) -> None:
    """With it the loss of a record is noticed. Nor does it keep the folder, once it is given back."""
    lock = FolderLock(tmp_path)
    lock.keep()

    def full(descriptor: int, text: bytes, at: int) -> int:
        if written < 0:
            raise OSError(28, "No space left on device")
        return written

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        lock.release()
        assert has_recorded(tmp_path)
        with pytest.raises(StoreError, match="No space"):
            FolderLock(tmp_path)
        assert has_recorded(tmp_path)
    again = FolderLock(tmp_path)
    assert again.recorded
    again.release()
    assert (tmp_path / "lock").read_bytes() == b"recorded\n"


def test_a_mark_that_cannot_be_made_is_made_with_a_later_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The record is written by then: nobody's call is refused for it."""
    lock = FolderLock(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", lambda *_: 0)
        for _ in range(3):
            lock.keep()
    assert (lock.recorded, len(caplog.records)) == (False, 1)
    lock.keep()
    assert (lock.recorded, has_recorded(tmp_path)) == (True, True)
    lock.release()

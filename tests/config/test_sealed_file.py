"""Secrets in a sealed file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gatewright.config.sealed_file import SealedFile
from gatewright.storage.errors import StoreDamagedError, StoreError

WRITER = """
import sys
from pathlib import Path
from gatewright.config.sealed_file import SealedFile
held = SealedFile(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    held.put(f"{sys.argv[2]}-{number}", "value")
"""


def test_what_is_kept_is_found_by_everybody(tmp_path: Path) -> None:
    SealedFile(tmp_path).put("token", "hunter2")
    SealedFile(tmp_path).put("other", "ä\n")
    held = SealedFile(tmp_path)
    assert (held.names(), held.get("token"), held.get("other")) == (
        ["other", "token"],
        "hunter2",
        "ä\n",
    )
    assert held.get("nothing") is None


def test_before_the_first_secret_nothing_is_made(tmp_path: Path) -> None:
    held = SealedFile(tmp_path / "state")
    assert (held.names(), held.get("a"), held.remove("a"), held.exists()) == (
        [],
        None,
        False,
        False,
    )
    assert list(tmp_path.iterdir()) == []


def test_a_removed_secret_is_gone(tmp_path: Path) -> None:
    held = SealedFile(tmp_path)
    held.put("token", "hunter2")
    assert [held.remove("token"), held.remove("token")] == [True, False]
    assert held.get("token") is None


def test_neither_value_nor_name_stands_in_any_file(tmp_path: Path) -> None:
    SealedFile(tmp_path).put("the-name", "hunter2")
    written = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"hunter2" not in written
    assert b"the-name" not in written


def test_files_are_for_their_owner_alone_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        SealedFile(tmp_path / "state").put("a", "b")
    finally:
        os.umask(before)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "state").iterdir()}
    assert modes == dict.fromkeys(("secrets.key", "secrets.lock", "secrets.sealed"), 0o600)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_key_that_others_can_reach_is_refused_with_the_way_out(tmp_path: Path, mode: int) -> None:
    held = SealedFile(tmp_path)
    held.put("a", "b")
    key = tmp_path / "secrets.key"
    key.chmod(mode)
    with pytest.raises(StoreError, match=f"chmod 600 {key}"):
        held.get("a")
    with pytest.raises(StoreError, match="chmod 600"):
        held.put("c", "d")
    key.chmod(0o400)
    assert held.get("a") == "b"


def test_a_lost_key_is_never_replaced_while_it_is_needed(tmp_path: Path) -> None:
    held = SealedFile(tmp_path)
    held.put("a", "b")
    (tmp_path / "secrets.key").unlink()
    with pytest.raises(StoreError, match=r"is gone, so .*sealed cannot be opened"):
        held.get("a")
    with pytest.raises(StoreError, match=r"is gone, so .*sealed cannot be opened"):
        held.put("c", "d")
    assert not (tmp_path / "secrets.key").exists()


@pytest.mark.parametrize("place", [0, 25, -1])
def test_a_changed_file_is_refused(tmp_path: Path, place: int) -> None:
    held = SealedFile(tmp_path)
    held.put("a", "b")
    content = bytearray((tmp_path / "secrets.sealed").read_bytes())
    content[place] ^= 1
    (tmp_path / "secrets.sealed").write_bytes(bytes(content))
    with pytest.raises(StoreDamagedError, match="is not what was written"):
        held.get("a")


def test_a_key_that_is_none_is_named(tmp_path: Path) -> None:
    held = SealedFile(tmp_path)
    held.put("a", "b")
    (tmp_path / "secrets.key").write_text("what")
    with pytest.raises(StoreDamagedError, match=r"secrets.key is no key"):
        held.names()


def test_the_key_may_be_kept_elsewhere(tmp_path: Path) -> None:
    held = SealedFile(tmp_path / "state", tmp_path / "elsewhere" / "key")
    held.put("a", "b")
    assert not (tmp_path / "state" / "secrets.key").exists()
    assert held.get("a") == "b"
    with pytest.raises(StoreError, match="is gone"):
        SealedFile(tmp_path / "state").get("a")


def test_writers_at_once_lose_nothing(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name, "15"])
        for name in ("one", "two", "three")
    ]
    assert [writer.wait(60) for writer in writers] == [0, 0, 0]
    assert len(SealedFile(tmp_path).names()) == 45


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(StoreError, match=r"secrets.lock cannot be used"):
        SealedFile(tmp_path / "state").put("a", "b")

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.discovery.private_file import write_private


def test_a_file_is_replaced_whole_and_is_its_owners(tmp_path: Path) -> None:
    file = tmp_path / "f"
    (tmp_path / "f.draft").write_text("left of another")
    for parts in ([b"one", b"two"], [b"three"]):
        write_private(file, parts)
        assert file.read_bytes() == b"".join(parts)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_what_is_there_stays_where_writing_fails(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_private(file, [b"old"])

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"):
        write_private(file, parts())
    assert file.read_bytes() == b"old"
    assert [one.name for one in tmp_path.iterdir()] == ["f"]

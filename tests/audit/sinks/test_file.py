"""Records in files that begin anew."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.sinks.file import FileSink
from tests.audit.sinks.parts import lines, plain


def a_sink(path: Path, **more: Any) -> FileSink:
    """One that begins anew only when it is told to."""
    options: dict[str, Any] = {"rotate_bytes": 1 << 30, "rotate_s": 1e9, **more}
    return FileSink(path, plain, **options)


def full(folder: Path) -> list[Path]:
    """The files that were renamed, oldest first."""
    return sorted(folder.glob("audit.jsonl.*"))


def whole(folder: Path) -> list[bytes]:
    """All lines of all files, the full ones first."""
    paths = [*full(folder), folder / "audit.jsonl"]
    return [line for path in paths for line in path.read_bytes().splitlines()]


async def test_records_are_lines_for_the_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "logs" / "audit.jsonl"
    sink = a_sink(path)
    await sink.deliver(lines(1, 3))
    await sink.deliver(lines(4, 5))
    await sink.close()
    assert path.read_bytes().splitlines() == lines(1, 5)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


async def test_a_full_file_is_renamed_and_nothing_is_lost_at_the_turn(tmp_path: Path) -> None:
    sink = a_sink(tmp_path / "audit.jsonl", rotate_bytes=2_000)
    await sink.deliver(lines(1, 40))
    await sink.close()
    assert whole(tmp_path) == lines(1, 40)
    sizes = [path.stat().st_size for path in full(tmp_path)]
    assert len(sizes) > 5
    assert max(sizes) <= 2_000


async def test_an_old_file_is_renamed_after_the_next_record(tmp_path: Path) -> None:
    sink = a_sink(tmp_path / "audit.jsonl", rotate_s=60)
    await sink.deliver(lines(1, 12, apart_s=10))
    await sink.close()
    assert [path.name for path in full(tmp_path)] == ["audit.jsonl.000000000007"]
    assert whole(tmp_path) == lines(1, 12, apart_s=10)


async def test_only_so_many_full_files_stay(tmp_path: Path) -> None:
    sink = a_sink(tmp_path / "audit.jsonl", rotate_bytes=2_000, keep=2)
    await sink.deliver(lines(1, 40))
    await sink.close()
    assert len(full(tmp_path)) == 2
    assert whole(tmp_path)[-1] == lines(40, 40)[0]


async def test_what_a_crash_cut_short_is_cut_off_before_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    first, second = lines(1, 2)
    path.write_bytes(first + b"\n" + second[:20])
    sink = a_sink(path)
    await sink.deliver([second])
    await sink.close()
    assert path.read_bytes().splitlines() == [first, second]


async def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"):
        await a_sink(tmp_path / "file" / "audit.jsonl").deliver(lines(1, 1))


async def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Somebody may have put it there to have a file made, or cut off, elsewhere."""
    (tmp_path / "elsewhere").write_text("no line")
    (tmp_path / "audit.jsonl").symlink_to("elsewhere")
    sink = a_sink(tmp_path / "audit.jsonl")
    with pytest.raises(OSError, match=r"audit\.jsonl"):
        await sink.deliver(lines(1, 2))
    await sink.close()
    assert (tmp_path / "elsewhere").read_text() == "no line"

"""Records of what was done to which file: kept while they are needed, and read by their owner alone."""

import stat
from pathlib import Path

from gatewright.hosts.entry_splices import Record, apply
from gatewright.hosts.host_table import HOSTS
from gatewright.hosts.records import Records


def some(file: Path) -> Record:
    _, step = apply(HOSTS["cursor"], "{}", "gatewright", {"url": "http://x/mcp"})
    return Record(host="cursor", file=str(file), steps=(step,))


def test_a_record_is_found_by_its_host_and_file(tmp_path: Path) -> None:
    records, file = Records(tmp_path / "hosts"), tmp_path / "mcp.json"
    assert records.all() == []
    assert records.find("cursor", file) == Record(host="cursor", file=str(file))
    records.keep(some(file))
    assert records.find("cursor", file) == some(file)
    assert records.find("cursor", tmp_path / "other") == Record(
        host="cursor", file=str(tmp_path / "other")
    )
    assert records.all() == [some(file)]
    assert {stat.S_IMODE(one.stat().st_mode) for one in (tmp_path / "hosts").iterdir()} == {0o600}


def test_a_record_without_steps_goes(tmp_path: Path) -> None:
    records, file = Records(tmp_path), tmp_path / "mcp.json"
    records.keep(some(file))
    records.keep(some(file).without("gatewright"))
    records.keep(some(file).without("gatewright"))
    assert list(tmp_path.iterdir()) == []


def test_a_record_that_cannot_be_read_counts_as_none(tmp_path: Path) -> None:
    records, file = Records(tmp_path), tmp_path / "mcp.json"
    records.keep(some(file))
    next(tmp_path.iterdir()).write_text("{")
    assert records.find("cursor", file).steps == ()
    assert records.all() == []


def test_a_copy_goes_when_the_file_is_as_it_was(tmp_path: Path) -> None:
    records, file = Records(tmp_path), tmp_path / "mcp.json"
    first, second = records.back_up("cursor", file, "one"), records.back_up("cursor", file, "two")
    assert (first.read_text(), second.read_text()) == ("one", "two")
    assert stat.S_IMODE(first.stat().st_mode) == 0o600
    assert records.drop_backups("cursor", file, "one") == [second]
    assert records.drop_backups("cursor", file, None) == [second]
    assert not first.exists()


def test_a_folder_that_cannot_go_yet_goes_with_the_last_file_in_it(tmp_path: Path) -> None:
    records, folder = Records(tmp_path / "hosts"), tmp_path / ".config"
    folder.mkdir()
    records.keep(some(folder / "zed" / "settings.json"))
    records.hand_over([str(folder), str(tmp_path / "gone")])
    assert [one.folders for one in records.all()] == [(str(folder),)]

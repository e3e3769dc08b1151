from __future__ import annotations

import logging
import stat
import sys
from functools import cache
from pathlib import Path

import msgspec
import pytest

from gatewright.discovery import kept_index
from gatewright.discovery.index import Entry, Found, ToolIndex
from gatewright.discovery.kept_index import FILE, load, store
from gatewright.discovery.postings import Lists
from gatewright.transport.slices import whole

FILES = [
    Entry("f/read", "f", "read_file", "Read the contents of a file", ("path",), ("data/files",)),
    Entry("f/remove", "f", "delete_file", "Delete a file from disk", ("path",)),
]
MAIL = [Entry("m/mail", "m", "send_email", "Send a message to somebody", ("to",))]
QUERIES = ("read file", "raed fiel", "a letter to my colleague", "Datei löschen", "zzz")


def _filled() -> ToolIndex:
    made = ToolIndex()
    whole(made.put("gone", [Entry(f"g/{n}", "gone", "old_tool", "Old words") for n in range(9)]))
    whole(made.put("f", FILES))
    whole(made.put("m", MAIL))
    made.drop("gone")
    return made


@pytest.fixture
def file(tmp_path: Path) -> Path:
    store(tmp_path / FILE, whole(_filled().kept()))
    return tmp_path / FILE


def answers(index: ToolIndex) -> list[Found]:
    return [whole(index.search(one)) for one in QUERIES]


def test_what_is_kept_answers_like_what_was_made(file: Path) -> None:
    fresh, again = ToolIndex(), load(file)
    for index in (fresh, again):
        whole(index.put("f", FILES))
        whole(index.put("m", MAIL))
    assert answers(again) == answers(fresh)
    assert again.export("f/read") == fresh.export("f/read")
    assert again.changes == 0  # nothing was made anew


def test_nothing_is_found_until_its_server_lists_it_again(file: Path) -> None:
    again = load(file)
    assert answers(again)[0].hits == ()
    assert again.servers == {"f", "m"}
    whole(again.put("f", []))  # it is not connected yet
    whole(again.put("f", FILES))
    assert [one.tool_id for one in answers(again)[0].hits][:1] == ["f/read"]
    assert again.changes == 0


def test_a_server_that_lists_something_else_is_made_anew(file: Path) -> None:
    again = load(file)
    whole(again.put("f", FILES[1:]))
    whole(again.put("m", MAIL))
    assert "f/read" not in [hit.tool_id for found in answers(again) for hit in found.hits]
    assert whole(again.search("delete file")).hits[0].tool_id == "f/remove"
    assert again.changes == 1
    whole(again.put("f", []))
    assert len(again) == 1


def test_what_is_not_listed_yet_is_kept_once_more(file: Path) -> None:
    again = load(file)
    whole(again.put("m", MAIL))
    again.drop("nobody")
    store(file, whole(again.kept()))
    third = load(file)
    assert third.servers == {"f", "m"}
    third.drop("f")
    whole(third.put("f", FILES))
    assert third.changes == 2  # it was dropped, and is made anew


def test_a_file_is_private_and_no_draft_is_left(file: Path) -> None:
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [one.name for one in file.parent.iterdir()] == [FILE]


def test_what_a_killed_writer_left_is_written_over(file: Path) -> None:
    draft = file.with_name(f"{FILE}.draft")
    draft.write_bytes(b"half")
    draft.chmod(0o644)
    store(file, whole(load(file).kept()))
    assert [one.name for one in file.parent.iterdir()] == [FILE]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_link_in_the_place_of_the_draft_is_not_followed(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"mine")
    file.with_name(f"{FILE}.draft").symlink_to(other)
    store(file, whole(load(file).kept()))
    assert other.read_bytes() == b"mine"
    assert not file.is_symlink()


def test_what_made_an_index_is_looked_at_before_there_is_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that is replaced while it runs does not write the index of the old one as made by the new one."""
    program = [b"o" * 32]
    monkeypatch.setattr(kept_index, "made_by", cache(lambda: program[0]))
    load(tmp_path / FILE)
    program[0] = b"n" * 32
    store(tmp_path / FILE, whole(_filled().kept()))
    monkeypatch.setattr(kept_index, "made_by", lambda: program[0])
    assert load(tmp_path / FILE).servers == set()


def test_parts_that_do_not_fit_together_are_made_anew(file: Path) -> None:
    kept = whole(_filled().kept())
    lists, more = kept.postings, (1 << 20).to_bytes(4, sys.byteorder)
    far = Lists(lists.texts, lists.lengths, more + lists.numbers[4:])
    terms = Lists(kept.spelling.texts, kept.spelling.lengths, more + kept.spelling.numbers[4:])
    signs, codes, scales, rows = kept.vectors
    fewer = msgspec.structs.replace(kept.servers[0], tools=kept.servers[0].tools - 1)
    for wrong in (
        msgspec.structs.replace(kept, postings=far),
        msgspec.structs.replace(kept, names=far),
        msgspec.structs.replace(kept, spelling=terms),
        msgspec.structs.replace(kept, vectors=(signs[:-32], codes[:-192], scales[:-4], rows[:-80])),
        msgspec.structs.replace(kept, servers=[fewer, *kept.servers[1:]]),
        msgspec.structs.replace(kept, servers=kept.servers[1:]),
    ):
        store(file, wrong)
        assert load(file).servers == set()


def test_where_there_is_no_file_nothing_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert load(tmp_path / FILE).servers == set()
    assert not caplog.records


@pytest.mark.parametrize("at", [0, 30, 60, 90, 100, 400, -1])
def test_a_damaged_file_is_made_anew_with_a_line_in_the_log(
    file: Path, at: int, caplog: pytest.LogCaptureFixture
) -> None:
    content = bytearray(file.read_bytes())
    content[at] ^= 1
    file.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert load(file).servers == set()
    assert [one.message for one in caplog.records if "made anew" in one.message]


@pytest.mark.parametrize("content", [b"", b"something else\n" * 20, b"\x80\x04K\x01."])
def test_a_foreign_file_is_made_anew(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    assert load(file).servers == set()


def test_a_file_that_ends_early_or_late_is_made_anew(file: Path) -> None:
    content = file.read_bytes()
    for wrong in (content[:-1], content + b"x", content[:100]):
        file.write_bytes(wrong)
        assert load(file).servers == set()


def test_an_index_of_another_version_is_made_anew(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(kept_index, "made_by", lambda: b"n" * 32)
    with caplog.at_level(logging.WARNING):
        assert load(file).servers == set()
    assert "another version" in caplog.text


def test_a_folder_in_its_place_is_no_reason_to_stop(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    assert load(tmp_path / FILE).servers == set()


def test_a_server_with_a_text_that_no_file_can_hold_is_left_out(tmp_path: Path) -> None:
    odd = [Entry("o/x", "o", "x", "broken \ud800 text")]
    made = ToolIndex()
    whole(made.put("o", odd))
    whole(made.put("m", MAIL))
    store(tmp_path / FILE, whole(made.kept()))
    again = load(tmp_path / FILE)
    assert again.servers == {"m"}
    whole(again.put("o", odd))
    whole(again.put("m", MAIL))
    assert answers(again) == answers(made)

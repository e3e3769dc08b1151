"""Data files beside modules: what is read of them, and what the words of a text are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.word_tables import tables, words


def test_a_text_is_its_words_a_list_its_texts_and_a_table_both_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(
        'some = """\n b  a\n c\n"""\nlong = ["a b", "c"]\n[of]\none = "é d"\nnone = ""\n', "utf-8"
    )
    found = tables(str(tmp_path / "x.py"), "x.toml")
    assert found["long"] == ["a b", "c"]
    assert words(found) == {
        "some": ("b", "a", "c"),
        "long": ("a b", "c"),
        "of": {"one": ("é", "d"), "none": ()},
    }


def test_a_file_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        tables(str(tmp_path / "x.py"), "x.toml")

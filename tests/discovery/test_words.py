from __future__ import annotations

import pytest

from gatewright.discovery.words import Words, bigrams, fold, parts, split, stem


def known(text: str) -> list[str]:
    words = Words(lambda folded, root: (), lambda word: (-1, 0.0))
    return [one.term for written in split(text, 1000) for one in words.of(written) if one.term]


@pytest.mark.parametrize(
    "spelled", ["readFile", "read_file", "Read file", "read-file", "READ FILE"]
)
def test_words_are_the_same_however_a_name_is_spelled(spelled: str) -> None:
    assert known(spelled) == ["read", "file"]


@pytest.mark.parametrize(
    "words",
    ["translate translates translated translating translation", "create creating creation created",
     "query queries", "file files", "list lists listed listing", "delete deleted deleting"],
)  # fmt: skip
def test_forms_of_a_word_have_one_stem(words: str) -> None:
    assert len({stem(one) for one in words.split()}) == 1


def test_short_words_keep_their_letters() -> None:
    assert [stem(one) for one in ("is", "bus", "gas", "css", "dns")] == [
        "is",
        "bus",
        "gas",
        "css",
        "dns",
    ]


def test_accents_and_case_are_folded_but_not_the_marks_of_kana() -> None:
    assert fold("Größe ÉCRIRE") == "grosse ecrire"
    assert fold("ガ") == "ガ"
    assert fold("\uff21\uff22\uff23") == "abc"


def test_script_without_spaces_is_found_by_pairs() -> None:
    assert bigrams("搜索文件") == ["搜索", "索文", "文件"]
    assert bigrams("手") == ["手"]
    assert known("用必应搜索。文件") == ["用必", "必应", "应搜", "搜索", "文件"]


def test_script_and_letters_are_apart() -> None:
    assert parts("PDFファイルの2ページ") == ["pdf", "ファイルの", "2", "ページ"]


def test_a_run_stands_for_the_longest_parts_that_mean_something() -> None:
    meaning = {"搜索": ("#1",), "搜": ("#2",)}
    words = Words(lambda folded, root: meaning.get(folded, ()), lambda word: (-1, 0.0))
    assert [one.concepts for one in words.of("请搜索") if one.concepts] == [("#1",)]


def test_words_of_questions_say_nothing_about_a_tool() -> None:
    assert known("how do I find the file, bitte, por favor") == ["find", "file", "favor"]


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    assert split("aa bb cc", 5) == ["aa", "bb"]
    assert len(known("x" * 100_000)[0]) <= 40


def test_what_is_long_or_stands_for_much_is_not_remembered() -> None:
    """So that nobody fills the memory with queries."""
    asked: list[str] = []

    def row(word: str) -> tuple[int, float]:
        asked.append(word)
        return -1, 0.0

    words = Words(lambda folded, root: (), row)
    for written in ("read", "x" * 2000, "文" * 30):
        counts = []
        for _ in range(2):
            asked.clear()
            words.of(written)
            counts.append(len(asked))
        assert counts[0] > 0
        assert counts[1] == (0 if written == "read" else counts[0])

from __future__ import annotations

import pytest

from gatewright.discovery.ranking import Text, ranked, words
from gatewright.transport.slices import whole

TEXTS = [
    Text("send_mail", "Send a message to somebody by mail", ("mail",)),
    Text("directory_list", "List the entries of a directory", ("filesystem", "utility")),
    Text("read_file", "Read a file from the file system", ("filesystem",)),
    Text("copy", "Copy a file or a directory somewhere else", ("filesystem",)),
]


def best(query: str) -> list[str]:
    return [TEXTS[number].name for number in whole(ranked(query, TEXTS))]


@pytest.mark.parametrize("spelled", ["readFile", "read_file", "Read file", "read-file"])
def test_words_are_the_same_however_a_name_is_spelled(spelled: str) -> None:
    assert words(spelled) == ["read", "file"]


def test_what_has_the_words_in_its_name_comes_before_what_only_mentions_them() -> None:
    """GRH-disc-2."""
    assert best("directory")[:2] == ["directory_list", "copy"]
    assert best("read file")[0] == "read_file"
    assert best("mail") == ["send_mail"]


def test_a_category_finds_what_is_filed_under_it() -> None:
    """GRH-disc-2."""
    assert set(best("filesystem")) == {"directory_list", "read_file", "copy"}


def test_a_beginning_of_a_word_fits_but_less_than_the_word() -> None:
    assert best("dir") == best("direct")
    assert "directory_list" in best("dir")
    assert best("di") == []


@pytest.mark.parametrize("query", ["", "   ", "quark", "!?"])
def test_words_that_nothing_has_find_nothing(query: str) -> None:
    assert best(query) == []


def test_nothing_is_found_among_nothing() -> None:
    assert whole(ranked("file", [])) == []


def test_equals_stay_in_their_order() -> None:
    same = [Text("one", "alpha"), Text("two", "alpha"), Text("six", "alpha")]
    assert whole(ranked("alpha", same)) == [0, 1, 2]


def test_a_long_query_does_not_take_longer_than_its_first_words() -> None:
    assert best(" ".join(f"word{number}" for number in range(10_000)) + " mail") == []


def test_a_search_takes_steps_for_each_text_and_each_word_of_it() -> None:
    """So that nobody waits for a search among many tools."""
    many = [Text(f"tool{one}", "all work and no play") for one in range(100)]
    steps = sum(1 for _ in ranked("work play", many))
    assert steps >= 300

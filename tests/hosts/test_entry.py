"""A foreign table key by key."""

import pytest

from gatewright.hosts.entry import MAX_CHARS, MAX_ITEMS, Entry, literal, plain_text
from gatewright.hosts.model import Refused


def test_values_are_read_under_any_of_their_names_and_remembered_as_used() -> None:
    entry = Entry({"cmd": "x", "args": "one", "enabled": True, "other": 1, "env": None})
    assert entry.text("command", "cmd") == "x"
    assert entry.texts("args") == ("one",)
    assert (entry.flag("enabled"), entry.flag("disabled")) == (True, None)
    assert entry.variables("env") == {}
    assert entry.unread() == ["other"]


def test_texts_are_translated_unless_they_are_ours() -> None:
    data = {"a": "${env:X}", "m": {"K": "${env:X}"}}
    assert Entry(data).text("a") == "${env:X}"
    assert Entry(data, syntaxes=()).text("a") == "$${env:X}"
    foreign = Entry(data, syntaxes=("braces",))
    assert (foreign.text("a"), foreign.word("a")) == ("${X}", "${env:X}")
    assert foreign.variables("m") == {"K": "${X}"}
    assert literal("${X}", "a") == "$${X}"


def test_what_a_hand_wrote_without_quotes_is_a_text() -> None:
    assert [plain_text(one, "a") for one in (True, False, 1, 1.5, "x")] == [
        "true",
        "false",
        "1",
        "1.5",
        "x",
    ]


@pytest.mark.parametrize("value", [None, [], {}, "a\0b", "\ud800", "x" * (MAX_CHARS + 1)])
def test_what_is_no_text_is_refused_without_being_repeated(value: object) -> None:
    with pytest.raises(Refused) as found:
        plain_text(value, "key")
    assert str(found.value).startswith("key has ")


@pytest.mark.parametrize("env", [{"A B": "x"}, {"": "x"}, {"1A": "x"}, {"A": []}, "x", ["A=b"]])
def test_variables_that_no_program_can_have_are_refused(env: object) -> None:
    with pytest.raises(Refused):
        Entry({"env": env}).variables("env")


@pytest.mark.parametrize("headers", [{"A B": "x"}, {"A": "x\ny"}, {"Ä": "x"}])
def test_headers_that_http_cannot_carry_are_refused(headers: object) -> None:
    with pytest.raises(Refused):
        Entry({"headers": headers}).headers("headers")


def test_lists_and_maps_have_an_end() -> None:
    with pytest.raises(Refused, match="more than"):
        Entry({"a": ["x"] * (MAX_ITEMS + 1)}).texts("a")
    with pytest.raises(Refused, match="more than"):
        Entry({"a": {f"A{n}": "x" for n in range(MAX_ITEMS + 1)}}).variables("a")


@pytest.mark.parametrize("value", [0, -1, True, "5", float("nan"), float("inf"), 1e30])
def test_a_number_that_is_none_is_told_and_dropped(value: object) -> None:
    entry = Entry({"timeout": value})
    assert entry.number("timeout") is None
    assert [note.key for note in entry.notes] == ["timeout"]


def test_a_number_of_endless_digits_is_no_text() -> None:
    with pytest.raises(Refused, match="without end"):
        plain_text(10**5000, "key")

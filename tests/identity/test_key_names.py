"""Names of keys: one name for what people read as one."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.identity.key_names import key_name, read_alike

COMPOSED, APART = (unicodedata.normalize(form, "Jos\u00e9") for form in ("NFC", "NFD"))


@pytest.mark.parametrize("name", ["ann", "build-bot", "ci/2", COMPOSED, "\u5c71\u7530", "cursor"])
def test_a_name_that_people_can_read_is_kept(name: str) -> None:
    assert key_name(name, ["bob", "cursor"]) == name


def test_a_name_is_kept_composed() -> None:
    assert key_name(APART, []) == COMPOSED


@pytest.mark.parametrize(
    "name",
    [
        *("", " ann", "a\nb", "a" * 129, "corp:bob", "corp\uff1abob"),
        *("*", "\uff0a", "LOCAL", "Local", "Anonymous", "\uff41nonymous"),
        *("local\ufe0f", "cursor\u3164", "cur\u200bsor", "\u2800ann", "ann\u00ad", "a\U000e0061"),
    ],
)
def test_what_reads_as_somebody_else_or_shows_nothing_is_no_name(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        key_name(name, [])


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("Cursor", "cursor"),
        ("\uff43ursor", "cursor"),
        ("BOB", "Bob"),
        ("Stra\u00dfe", "STRASSE"),
        ("Jose\u0301", "JOS\u00c9"),
    ],
)
def test_another_spelling_of_a_name_that_there_is_is_refused_and_the_name_itself_is_not(
    name: str, other: str
) -> None:
    with pytest.raises(ValueError, match="reads like"):
        key_name(name, ["ann", other])
    assert key_name(other, ["ann", other]) == unicodedata.normalize("NFC", other)


def test_a_name_from_before_names_were_composed_goes_on_as_it_was() -> None:
    assert key_name(COMPOSED, [APART]) == APART


def test_names_that_are_one_to_people_are_found() -> None:
    assert read_alike("jos\u00e9", [COMPOSED, "ann", APART, "jose"]) == [COMPOSED, APART]


@given(st.text(max_size=12), st.lists(st.text(max_size=12), max_size=3))
def test_what_is_kept_is_taken_once_more(name: str, others: list[str]) -> None:
    try:
        kept = key_name(name, others)
    except ValueError:
        return
    assert key_name(kept, [*others, kept]) == kept
    assert read_alike(kept, [name])


@pytest.mark.parametrize(
    "name", ["olga\ufe0f", "ol\U000e0100ga", "OLGA\ufe0e", "ol  ga", "ol\u3000ga"]
)
def test_what_only_blanks_and_selectors_tell_apart_reads_alike(name: str) -> None:
    other = "ol ga" if " " in name or "\u3000" in name else "olga"
    assert read_alike(name, ["bob", other]) == [other]
    with pytest.raises(ValueError, match=r"name|reads like"):
        key_name(name, [other])

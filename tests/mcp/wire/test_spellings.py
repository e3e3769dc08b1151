"""Names that read as the members of MCP's messages, and those that do not."""

import unicodedata
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import spellings
from gatewright.mcp.wire.methods import WORDS
from gatewright.mcp.wire.spellings import (
    META,
    MOST,
    PLAIN,
    SAID,
    TAKEN,
    flaw_of_members,
    flaw_of_meta,
    flaw_of_params,
    fold,
    members_of,
    misread,
    misreadings,
    to_drop,
)
from tests.costs import DOUBLED, grows


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("Name", "name"),
        ("NA_ME", "name"),
        ("-name ", "name"),
        ("argument\u017f", "arguments"),
        ("tas\u212a", "task"),
        ("\uff4e\uff41\uff4d\uff45", "name"),
        ("ur\u0131", "uri"),
        ("UR\u0130", "uri"),
        ("names", "names"),
        ("_", ""),
        ("\u5143", "\u5143"),
    ],
)
def test_case_width_and_separators_make_no_other_name(name: str, read: str) -> None:
    assert fold(name) == read


def test_the_first_that_reads_as_a_known_name_is_found_and_a_known_one_never() -> None:
    known = frozenset(("name", "_meta"))
    assert misread(["name", "_meta", "other", "Meta", "NAME"], known) == ("Meta", "_meta")
    assert misread(["name", "surname", "_" * 300 + "name"], known) is None


def test_every_message_of_mcp_has_its_members_and_none_of_them_reads_as_another() -> None:
    for one in WORDS:
        members = members_of(one.method)
        assert len({fold(name) for name in members}) == len(members)
        assert flaw_of_params(one.method, dict.fromkeys(members)) == ""
        assert TAKEN.get(one.method, PLAIN) <= members


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"Name": 1}, "params has 'Name', which reads as name"),
        ({"task": {"TTL": 1}}, "params.task has 'TTL'"),
        ({"inputResponses": {"a": {"Action": "accept"}}}, "a member of params.inputResponses"),
        ({"inputResponses": {"a": {"_meta": {"progress_token": 1}}}}, "_meta has 'progress_token'"),
        ({"inputResponses": {"a": 1}, "task": 1, "_meta": None}, ""),
        (
            {"_meta": {"io.modelcontextprotocol/related-task": {"task_id": 1}}},
            "the related task has",
        ),
        ({"_meta": {"io.modelcontextprotocol/related-task": 1, "x": 2}}, ""),
        ({"Uri": 1, "vendor": 2}, ""),
        (dict.fromkeys(map(str, range(MOST + 1))), f"more than {MOST} members"),
    ],
)
def test_params_are_looked_at_as_far_as_they_are_known(params: dict[str, Any], said: str) -> None:
    assert said in flaw_of_params("tools/call", params)
    assert bool(said) == bool(flaw_of_params("tools/call", params))


def test_the_meta_of_a_server_has_fewer_known_members() -> None:
    assert flaw_of_meta({"DEV.gatewright/tool": 1})
    assert not flaw_of_meta({"DEV.gatewright/tool": 1}, SAID)
    assert flaw_of_meta({"ProgressToken": 1}, SAID)
    assert not flaw_of_meta(dict.fromkeys(META))


def test_a_name_that_is_shown_is_shown_in_ascii() -> None:
    assert flaw_of_members("x", ["\uff4eame"], frozenset(("name",))).isascii()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0915\u093f\u0924\u093e\u092c", "\u0915\u0924\u0947\u092c"),  # Devanagari
        ("\u0e01\u0e34\u0e19", "\u0e01\u0e37\u0e19"),  # Thai
        ("\u0ba8\u0bbf\u0bb2\u0bae\u0bcd", "\u0ba8\u0bc0\u0bb2\u0bae\u0bcd"),  # Tamil
    ],
)
def test_words_that_differ_by_a_vowel_are_two_names_in_scripts_that_write_vowels_as_marks(
    one: str, other: str
) -> None:
    assert fold(one) != fold(other)


@pytest.mark.parametrize(
    "name",
    ["na\u0301me", "n\u00e0me", "name\ufe0f", "na\u034fme", "na\u200bme", "n\u20dda\u180bme"],
)
def test_accents_and_what_nobody_sees_make_no_other_name(name: str) -> None:
    assert fold(name) == "name"


@given(st.text(max_size=40))
def test_a_name_that_begins_with_a_foreign_letter_reads_as_no_known_one(name: str) -> None:
    known = frozenset({"name", (fold(name) if fold(name).isascii() else "") or "name"})
    found = misreadings([name], known)
    assert found is not None
    assert bool(found) == (name not in known and fold(name) in {fold(one) for one in known})


WIDE = "\uff41" * 240
HOSTILE = {
    "wide": WIDE,
    "ligatures": "\ufb03" * 240,
    "eighteen letters in one": "\ufdfa" * 240,
    "signs": "-" * 240,
    "accents": "a\u0301" * 120,
    "foreign": "\u5143" * 240,
}


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_is_folded_for_one_object_is_bounded(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    folded: list[str] = []

    def noted(name: str) -> str:
        folded.append(name)
        return fold(name)

    monkeypatch.setattr(spellings, "fold", noted)
    names = [f"{unit}{one}" for one in range(MOST)]
    flaw = flaw_of_members("params", names, frozenset(("name",)))
    assert flaw in {
        "",
        "params has more names of members than are compared; leave out what nobody reads",
    }
    weighed = sum(len(one) if not one.isascii() else len(one) // 16 for one in folded)
    assert weighed <= spellings.MOST_FOLDED + MOST * 2
    assert set(to_drop(names, frozenset(("name",)))) == (set(names) if flaw else set())


@pytest.mark.parametrize("unit", HOSTILE.values(), ids=HOSTILE.keys())
def test_to_fold_names_costs_as_much_as_they_are_long(unit: str) -> None:
    def fold_all(names: Iterable[str]) -> None:
        for name in names:
            fold(name)

    one = [f"{unit}{number}" for number in range(400)]
    assert grows(lambda: fold_all(one), lambda: fold_all(one * 4)) <= DOUBLED**2


def test_the_answers_of_one_message_are_looked_at_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spellings, "MOST", 30)
    answers = {str(number): {"action": "accept", "x": 1} for number in range(12)}
    assert flaw_of_params("tools/call", {"inputResponses": answers}) == ""
    answers |= {str(number): {"action": "accept", "x": 1} for number in range(12, 40)}
    flaw = flaw_of_params("tools/call", {"inputResponses": answers})
    assert flaw == "a member of params.inputResponses has more than 30 members"


def test_names_stay_normal_under_the_forms_of_unicode() -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert fold(unicodedata.normalize(form, "R\u00e9sum\u00e9 \u1e9b\u0323")) == fold(
            "r\u00e9sume\u1e9b"
        )

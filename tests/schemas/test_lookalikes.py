"""Names that a reader takes for each other share a key; names that are merely similar do not."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas import lookalikes
from gatewright.schemas.lookalikes import (
    barred_as,
    caseless,
    composed,
    folded,
    keys,
    length_seen,
    seen,
    skeleton,
    spellings,
)
from gatewright.transport.slices import whole
from tests.unicode_marks import ROWS


def twins(names: list[str]) -> dict[str, str]:
    return whole(lookalikes.twins(names))


def alike(one: str, other: str) -> bool:
    return bool(set(keys(one)) & set(keys(other)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("send_email", "Send_Email"),
        ("read_file", "read-file"),
        ("read.file", "read/file"),
        ("read_file", "re\u0430d_file"),  # Cyrillic a
        ("read_file", "\uff52ead_file"),  # full width
        ("read_file", "\U0001d42bead_file"),  # mathematical
        ("paypal", "\u0440\u0430\u0443\u0440\u0430l"),
        ("login", "l0gin"),
        ("total1", "totall"),
        ("ls", "Is"),
        ("modern", "rnodern"),
        ("ohm", "\u03bfhm"),  # Greek omicron
        ("file", "\ufb01le"),  # ligature
    ],
)
def test_names_that_look_alike_share_a_key(one: str, other: str) -> None:
    assert alike(one, other)
    assert twins([one, other])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("send_email", "send_sms"),
        ("a.read", "b.read"),
        ("get_item", "getItem"),
        ("get_item", "get_items"),
        ("v1", "v2"),
        ("id", "ld"),
        ("\u8bfb\u6587\u4ef6", "\u5199\u6587\u4ef6"),
        ("\u0447\u0438\u0442\u0430\u0442\u044c", "\u043f\u0438\u0441\u0430\u0442\u044c"),
    ],
)
def test_names_that_differ_to_the_eye_share_none(one: str, other: str) -> None:
    assert not alike(one, other)
    assert twins([one, other]) == {}


def test_the_plain_one_of_several_has_no_twin() -> None:
    assert twins(["Send_Email", "send_email", "send-email"]) == {
        "Send_Email": "send_email",
        "send-email": "send_email",
    }
    assert twins(["SendX", "SENDx"]) == {"SendX": "SENDx", "SENDx": "SendX"}
    assert twins(["same", "same"]) == {}


def test_separators_differ_to_the_eye_until_they_are_folded() -> None:
    assert seen("mgp/x") != seen("mgp_x")
    assert skeleton("mgp/x") == skeleton("mgp_x")
    assert folded("A.b-C d") == "a_b_c_d"


@given(st.text(max_size=40))
def test_every_text_has_keys_and_looks_like_itself(name: str) -> None:
    assert alike(name, name)
    assert skeleton(skeleton(name)) == skeleton(skeleton(skeleton(name)))


def test_a_name_has_one_composed_form_and_the_forms_that_look_like_it() -> None:
    assert spellings("ann") == ("ann",)
    assert spellings("Jose\u0301") == ("Jose\u0301", "Jos\u00e9")
    assert spellings("Jos\u00e9") == ("Jos\u00e9", "Jose\u0301")
    assert composed("Jose\u0301") == "Jos\u00e9"
    assert (composed("corp:Jose\u0301"), spellings("corp:Jose\u0301")) == (
        "corp:Jose\u0301",
        ("corp:Jose\u0301",),
    )
    assert barred_as("corp:Jose\u0301") == barred_as("corp:Jos\u00e9") == "corp:Jos\u00e9"
    assert barred_as("corp:\u212aim") == barred_as("corp:Kim") == "corp:Kim"
    assert barred_as("ann") == "ann"
    assert barred_as("Jose\u0301") == "Jos\u00e9"
    assert caseless("JOSE\u0301") == caseless("jos\u00e9") == "jos\u00e9"
    assert caseless("\uff21nn") == "ann"


@given(st.text(max_size=2000))
def test_a_text_is_as_long_as_what_is_looked_at(text: str) -> None:
    most = len(unicodedata.normalize("NFKC", text))
    found = length_seen(text, 10**6)
    assert found == most or (len(text) > 512 and found >= most)
    assert (length_seen(text, 100) > 100) == (found > 100)


def test_no_more_of_a_text_is_counted_than_decides() -> None:
    assert length_seen("\ufdfa" * 4000, 1000) == 512 * 18
    assert length_seen("\ufdfa" * 1_000_000, 1000) == 1001


def test_more_marks_than_any_script_writes_on_one_letter_are_more_than_there_is_room_for() -> None:
    """Sorting a long row of them takes quadratic time."""
    marks = "\u0301\u0316"
    assert length_seen("a" + marks * 15, 1000) <= 31
    assert length_seen("b" * 400 + "a" + marks * 16, 1000) == 1001
    assert length_seen("a" + marks * 100_000, 32_768) == 32_769


@pytest.mark.parametrize("row", ROWS)
def test_a_row_counts_wherever_it_stands_and_whatever_becomes_a_mark(
    row: Callable[[int], str],
) -> None:
    assert length_seen("\u1100\u1161\u11a8" * 500 + row(1500), 1000) == 1001
    assert length_seen("b" * 999 + row(1500)[-40:], 1000) == 1001


def test_what_is_composed_is_as_long_as_it_looks() -> None:
    assert length_seen("\u03b1\u0313\u0300\u0345" * 1000, 1000) == 1000
    assert 1000 <= length_seen("\u1100\u1161\u11a8" * 1000, 1100) < 1010

"""Variables in values: one pass, and no literal placeholder ever gets through."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.settings.substitute import Undefined, substitute

VARIABLES = {"TOKEN": "s3cret", "EMPTY": "", "NESTED": "${TOKEN}"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$TOKEN", "$TOKEN"),
        ("${TOKEN}", "s3cret"),
        ("Bearer ${TOKEN}!", "Bearer s3cret!"),
        ("${env:TOKEN}", "s3cret"),
        ("${TOKEN:-other}", "s3cret"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${NONE:-a:-b}", "a:-b"),
        ("${NESTED}", "${TOKEN}"),
        ("$${TOKEN}", "${TOKEN}"),
        ("100%", "100%"),
    ],
)
def test_a_variable_is_replaced_once(text: str, expected: str) -> None:
    """MGP-15.2-3"""
    assert substitute(text, VARIABLES) == expected


def test_an_unset_variable_is_named_with_the_way_out() -> None:
    """MGP-15.2-3"""
    with pytest.raises(Undefined) as caught:
        substitute("${CEREBRAS_API_KEY}", {})
    assert caught.value.what == "the environment variable CEREBRAS_API_KEY is not set"
    assert caught.value.instead == "set CEREBRAS_API_KEY, or write ${CEREBRAS_API_KEY:-default}"


@pytest.mark.parametrize(
    "text",
    [
        "${}",
        "${1}",
        "${A B}",
        "${cmd: id}",
        "${secret:x}",
        "${TOKEN",
        "${A:-${TOKEN}}",
        "${input:x}",
    ],
)
def test_what_only_looks_like_a_variable_is_refused(text: str) -> None:
    with pytest.raises(Undefined) as caught:
        substitute(text, VARIABLES)
    assert "not a substitution" in caught.value.what


@given(st.text(alphabet="${}:-aT1 \n", max_size=30))
def test_no_placeholder_survives(text: str) -> None:
    try:
        found = substitute(text, {"T": "value", "a": "other"})
    except Undefined:
        return
    assert found.count("${") == text.count("$${")

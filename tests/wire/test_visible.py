"""Text for people: nothing that is there stays unseen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.wire.visible import spelled


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("größe", "größe"),
        ("a\u202eb", "a\\u202eb"),
        ("a\u200bb", "a\\u200bb"),
        ("a\x1b[2J", "a\\u001b[2J"),
        ("a\nb", "a\\u000ab"),
    ],
)
def test_what_nobody_would_see_is_spelled(text: str, shown: str) -> None:
    assert spelled(text) == shown


def test_what_is_to_be_kept_is_kept() -> None:
    assert spelled("a\nb\tc", keep="\n") == "a\nb\\u0009c"


@given(st.text())
def test_whatever_is_shown_is_printable(text: str) -> None:
    assert spelled(text).isprintable()

from __future__ import annotations

import re

import pytest

from gatewright.sdk.export.sample_text import texts


@pytest.mark.parametrize(
    "pattern",
    [
        "^[A-Z]{1,5}$",
        r"^\d+(\.\d+)?$",
        "^(red|green)$",
        "^[^a-z]+$",
        "^.a?b*?$",
        r"^\s\S\W\w$",
        "x",
    ],
)
def test_texts_match_their_pattern_and_differ(pattern: str) -> None:
    found = [one for one, _ in zip(texts({"pattern": pattern}), range(5), strict=False)]
    assert found
    assert all(re.search(pattern, one) for one in found)
    assert len(set(found)) == len(found)


def test_texts_keep_the_bounds_of_their_length() -> None:
    found = list(texts({"minLength": 7, "maxLength": 7}))
    assert found
    assert {len(one) for one in found} == {7}
    assert all(len(one) >= 10 for one in texts({"pattern": "^a+$", "minLength": 10}))


def test_a_pattern_that_cannot_be_read_gives_nothing() -> None:
    assert list(texts({"pattern": "("})) == []

"""JSON and YAML texts as the value that JSON would have."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.servers.openapi.text import BadDocument, value_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 1.10}', {"a": 1.1}),
        (b"a: [1, x, null, true]", {"a": [1, "x", None, True]}),
        (b"200: ok\ntrue: yes", {"200": "ok", "True": "yes"}),
        (b"day: 2026-11-22", {"day": "2026-11-22"}),
        (b"\xef\xbb\xbfa: 1", {"a": 1}),
        (b"base: &b {x: 1}\nmore: {<<: *b, y: 2}", {"base": {"x": 1}, "more": {"x": 1, "y": 2}}),
        (b"base: &b {x: 1}\nmore: *b", {"base": {"x": 1}, "more": {"x": 1}}),
    ],
)
def test_a_value_is_what_json_would_have(text: bytes, value: Any) -> None:
    assert value_of(text) == value


@pytest.mark.parametrize(
    "text",
    [b"a: [1", b"\xff\xfe", b"a: .inf", b"a: !!python/object:os.system x", b"a: *nowhere"],
)
def test_what_is_neither_is_refused(text: bytes) -> None:
    with pytest.raises(BadDocument):
        value_of(text)


def test_a_small_text_cannot_become_a_huge_value() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(BadDocument, match="too large"):
        value_of("\n".join(lines).encode())


def test_merge_keys_cannot_make_it_huge_either() -> None:
    for levels, times in ((12, 4), (2, 2000)):
        lines = ["a0: &a0 {x: 1, y: 2}"]
        for level in range(1, levels + 1):
            bases = ", ".join([f"*a{level - 1}"] * times)
            lines.append(f"a{level}: &a{level}\n  <<: [{bases}]")
        with pytest.raises(BadDocument, match="too large"):
            value_of("\n".join(lines).encode())


def test_a_value_within_itself_is_refused() -> None:
    with pytest.raises(BadDocument):
        value_of(b"a: &a [*a]")


@given(st.text(max_size=60))
def test_any_text_has_a_value_or_is_refused(text: str) -> None:
    with suppress(BadDocument):
        assert value_of(text.encode("utf-8", "surrogatepass")) != b""

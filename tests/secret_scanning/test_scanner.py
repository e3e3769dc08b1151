"""Both passes: what the first lets through, the second has to have nothing in."""

from __future__ import annotations

import base64
import json
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.secret_scanning.personal import PERSONAL
from gatewright.secret_scanning.scanner import scanner

EVERY = scanner(secrets=True, personal=frozenset(PERSONAL), terms=("Project Zebra", "größe"))
SECRETS = scanner(secrets=True, personal=frozenset())
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
PIECES = [
    *(
        "password",
        "token",
        "secret",
        "api_key",
        "key",
        "name",
        "value",
        "cloudflare",
        "bearer ",
        "-u a:",
        "://u:",
        "@h",
    ),
    *(
        "=",
        ": ",
        '"',
        "'",
        "\\",
        "\n",
        ",",
        " ",
        "\t",
        "a1b2c3d4e5f6g7h8",
        "hunter2!",
        TOKEN,
        "-----BEGIN PRIVATE KEY-----",
    ),
    *(
        "4111111111111111",
        "+4930901820",
        "x@y.example.org",
        "123-45-6789",
        "größe",
        "project zebra",
        "é",
        "\x00",
        "{",
        "}",
    ),
]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_the_quick_pass_sees_whatever_the_exact_one_finds(text: str) -> None:
    found = EVERY.find(text.encode())
    if found:
        assert EVERY.worth_a_look(text.encode())
        assert EVERY.worth_a_look(json.dumps(text).encode())
        assert EVERY.worth_a_look(json.dumps(text, ensure_ascii=False).encode())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_findings_are_in_order_and_none_is_in_another(text: str) -> None:
    found = EVERY.find(text.encode())
    assert all(a[1] <= b[0] for a, b in pairwise(found))
    assert all(0 <= start < end <= len(text.encode()) for start, end, _ in found)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_bytes_of_any_kind_break_nothing(data: bytes) -> None:
    assert EVERY.replaced(data, lambda rule, _: b"")[0] is not None


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("secret", [TOKEN, "password=hunter2222", "DB_PASSWORD: s3cr3t!!"])
def test_one_level_of_base64_hides_nothing(secret: str, before: int) -> None:
    hidden = base64.b64encode(("z" * before + " " + secret + " and some more").encode()).decode()
    text = f"data {hidden} end"
    assert SECRETS.worth_a_look(text.encode())
    assert SECRETS.replaced(text.encode(), lambda rule, _: rule.encode())[0] == b"data base64 end"


def test_an_image_in_base64_stays_as_it_is() -> None:
    image = base64.b64encode(bytes(range(256)) * 40)
    assert SECRETS.replaced(image, lambda rule, _: b"")[0] == image


def test_terms_are_taken_out_in_any_case() -> None:
    """GRH-out-3"""
    found = EVERY.replaced("about PROJECT zebra, größe".encode(), lambda rule, _: rule.encode())[0]
    assert found == b"about term, term"


def test_a_scanner_of_one_kind_is_made_once() -> None:
    first = scanner(secrets=True, personal=frozenset())
    assert scanner(secrets=True, personal=frozenset()) is first

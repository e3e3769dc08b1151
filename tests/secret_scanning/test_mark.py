"""What stands in the place of a secret."""

from __future__ import annotations

import json
import re

import pytest

from gatewright.secret_scanning import PERSONAL, Redactor, without_secrets
from gatewright.secret_scanning.formats import formats
from gatewright.secret_scanning.mark import MARK, marker


def test_a_mark_names_the_rule_and_six_digits() -> None:
    assert re.fullmatch(rb"\[REDACTED:jwt:[0-9a-f]{6}\]", marker(b"key")("jwt", b"secret"))


def test_equal_secrets_have_equal_marks_and_others_do_not() -> None:
    mark = marker(b"key")
    assert mark("jwt", b"one") == mark("jwt", b"one") != mark("jwt", b"two")


def test_without_the_key_a_mark_cannot_be_made_again() -> None:
    assert marker(b"key")("jwt", b"one") != marker(b"other")("jwt", b"one")


@pytest.mark.parametrize("rule", ["github-token", "named", "private-key", "url-password", "term"])
@pytest.mark.parametrize("digits", [":33853c", ""])
def test_a_mark_stays_as_it_is_when_its_text_comes_by_again(rule: str, digits: str) -> None:
    """GRH-out-1: through two gateways, say; equal secrets stay equal."""
    text = f"x [REDACTED:{rule}{digits}] y"
    redactor = Redactor(b"another key", personal=frozenset(PERSONAL), terms=("zebra",))
    assert redactor.text(text).text.decode() == text
    raw = json.dumps({"said": text, "token": text}).encode()
    assert redactor.json(raw).text == raw
    assert without_secrets(text.encode()) == text.encode()


def test_every_rule_makes_a_mark_that_is_known_as_one() -> None:
    mark = marker(b"key")
    rules = {name for name, _, _ in formats()} | {*PERSONAL, "named", "vendor", "command-line"}
    assert [rule for rule in rules if MARK.fullmatch(mark(rule, b"x")) is None] == []


def test_what_only_looks_like_a_mark_hides_nothing() -> None:
    token = "gh" + "p_" + "a1B2c3D4e5F6" * 3
    redactor = Redactor(b"key")
    for text in (
        f"[REDACTED:github-token:{token}]",
        f"[REDACTED:{token}]",
        f"[REDACTED:x] {token}",
    ):
        assert token not in redactor.text(text).text.decode()

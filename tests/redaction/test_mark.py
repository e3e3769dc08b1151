"""What stands in the place of a secret."""

from __future__ import annotations

import re

from gatewright.redaction.mark import marker


def test_a_mark_names_the_rule_and_six_digits() -> None:
    assert re.fullmatch(rb"\[REDACTED:jwt:[0-9a-f]{6}\]", marker(b"key")("jwt", b"secret"))


def test_equal_secrets_have_equal_marks_and_others_do_not() -> None:
    mark = marker(b"key")
    assert mark("jwt", b"one") == mark("jwt", b"one") != mark("jwt", b"two")


def test_without_the_key_a_mark_cannot_be_made_again() -> None:
    assert marker(b"key")("jwt", b"one") != marker(b"other")("jwt", b"one")

"""The gateway's own secrets are found by their value, however they are spelled."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.exact import is_telling, spellings
from gatewright.secret_scanning.held import MOST
from gatewright.secret_scanning.scanner import scanner

PLAIN = "correct-horse-battery"
ODD = 'pa/ss "wörd"\\+42'
KEY = b"k" * 32


def redactor(*own: str) -> Redactor:
    return Redactor(KEY, own=own)


@pytest.mark.parametrize("secret", [PLAIN, ODD])
def test_a_secret_is_taken_out_in_every_spelling(secret: str) -> None:
    spelled = [
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(json.dumps(secret))[1:-1],
        quote(secret, safe=""),
        quote(secret).lower() if secret == PLAIN else quote(secret),
        *(base64.b64encode(b"x" * n + secret.encode() + b"yz").decode() for n in range(3)),
        base64.urlsafe_b64encode(secret.encode()).decode(),
    ]
    one = redactor(secret)
    for said in spelled:
        assert one.text(f"see {said} there").rules == ["own-secret"], said
        raw = json.dumps({"content": [{"text": f"see {said} there"}]}).encode()
        assert one.worth_a_look(raw)
        assert list(one.json(raw).rules) == ["own-secret"], said
        assert json.loads(one.json(raw).text)


def test_a_secret_is_found_over_the_border_of_pieces() -> None:
    said = "it is three words here, and " + PLAIN + " too"
    stream = redactor("three words here", PLAIN).stream()
    clean = "".join([*(stream.feed(one) for one in said), stream.end()])
    assert stream.rules == ["own-secret", "own-secret"]
    assert "three" not in clean
    assert PLAIN not in clean


@pytest.mark.parametrize("value", ["", "short", "true", "aaaaaaaaaaaa", "        ", "1212121212"])
def test_a_short_or_uniform_value_is_left_to_the_other_rules(value: str) -> None:
    assert not is_telling(value)
    assert spellings([value]) == ()
    assert redactor(value).text(f"say {value} here").rules == []


def test_another_case_is_another_value_and_other_text_stays() -> None:
    assert redactor(PLAIN).text(PLAIN.upper()).rules == []
    raw = b'{"a": "nothing of that kind"}'
    assert redactor(PLAIN).json(raw).text is raw


@given(st.lists(st.text(min_size=8, max_size=20).filter(is_telling), min_size=1, max_size=4))
def test_no_telling_value_is_left_in_any_text(values: list[str]) -> None:
    text = " and ".join(values)
    clean = redactor(*values).text(text).text.decode()
    assert not any(value.strip() in clean for value in values if value.strip() in text)


def test_another_secret_compiles_no_rule_anew() -> None:
    """All rules take a tenth of a second, which a reload of the configuration kept everybody waiting."""
    redactor("one-secret-of-ours").text("a")
    before = scanner.cache_info().misses
    for number in range(5):
        value = f"another-secret-{number}-of-ours"
        assert value.encode() not in redactor(value).text(f"x {value} y").text
    assert scanner.cache_info().misses == before


def test_no_secret_of_a_policy_is_displaced_by_others() -> None:
    values = tuple(f"secret-number-{number:05}-{number * 7919}" for number in range(3 * MOST))
    cleaned = redactor(*values).text(" ".join(values)).text
    assert not any(one.encode() in cleaned for one in values)

"""Rules of an operator's own: what their regexes, groups, entropy and allow-lists find, through the whole of redaction."""

from __future__ import annotations

import json
import time

import pytest

from gatewright.secret_scanning import Redactor
from gatewright.secret_scanning.operator_rules import AllowList, SecretRule, found_by, keyed
from gatewright.secret_scanning.patterns import Pattern

TOKEN = "q7Zr2mK9xP4vLt8W"
ACME = SecretRule(
    "acme-widget", r"(?i)\bacme[_-]?widget[\"' ]{0,3}[:=][\"' ]{0,3}([a-z0-9]{16})\b", ("acme",)
)


def secrets(rule: SecretRule, text: str) -> list[str]:
    return [text[start:end] for start, end, _ in found_by(rule, text.encode())]


def test_the_group_that_took_part_is_the_secret_or_the_one_that_is_named() -> None:
    assert secrets(ACME, f"acme_widget = {TOKEN}") == [TOKEN]
    either = SecretRule("x", r"key-(?:(\d{4})|([a-z]{4}))", ("key-",))
    assert secrets(either, "key-1234 key-abcd") == ["1234", "abcd"]
    named = SecretRule("x", r"(user)=(\w+)", ("user",), group=2)
    assert secrets(named, "user=ada") == ["ada"]
    assert secrets(SecretRule("x", r"tok_\w+", ("tok_",)), "a tok_12 b") == ["tok_12"]


def test_what_is_too_regular_is_no_secret() -> None:
    rule = SecretRule("x", r"tok_([a-z0-9]{16})", ("tok_",), entropy=3.0)
    assert secrets(rule, "tok_aaaaaaaabbbbbbbb tok_q7zr2mk9xp4vlt8w") == ["q7zr2mk9xp4vlt8w"]


@pytest.mark.parametrize(
    ("allowed", "stays"),
    [
        (AllowList(("^q7Z",)), True),
        (AllowList(("acme",)), False),
        (AllowList(("(?i)acme",), "match"), True),
        (AllowList(("# test",), "line"), True),
        (AllowList(("other line",), "line"), False),
        (AllowList((), stopwords=("k9xp",)), True),
        (AllowList(("^q7Z",), stopwords=("nothing",), every=True), False),
        (AllowList(("^q7Z",), stopwords=("nothing",)), True),
        (AllowList(("^q7Z",), stopwords=("k9xp",), every=True), True),
    ],
)
def test_an_allow_list_lets_stand_what_it_names(allowed: AllowList, stays: bool) -> None:
    rule = SecretRule("x", ACME.regex, ("acme",), allowed=(allowed,))
    text = f"other line\nacme_widget = {TOKEN} # test\nother line"
    assert secrets(rule, text) == ([] if stays else [TOKEN])


def test_keywords_are_literal_and_mind_no_case() -> None:
    pattern = Pattern(keyed(SecretRule("x", "y", ("a.c_", "tok"))))
    assert pattern.hits(b"xA.C_y")
    assert pattern.hits(b"TOK")
    assert not pattern.hits(b"abc_")


def test_a_redactor_takes_out_what_rules_find_in_texts_members_and_streams() -> None:
    redactor = Redactor(bytes(32), rules=(ACME,), held=None)
    plain = Redactor(bytes(32), held=None)
    inner = json.dumps({"acme_widget": TOKEN})
    for value in (
        f"acme_widget = {TOKEN}",
        {"acme_widget": TOKEN, "other": 1},
        [inner],
        {"text": f"line\nACME-WIDGET: '{TOKEN}'"},
    ):
        clean = redactor.json(json.dumps({"content": value}).encode())
        assert TOKEN not in clean.text.decode()
        assert "[REDACTED:acme-widget:" in clean.text.decode()
        json.loads(clean.text)
    quiet = json.dumps({"content": f"acme_thing = {TOKEN}"}).encode()
    assert redactor.json(quiet).text is quiet
    assert plain.policy != redactor.policy
    stream = redactor.stream()
    said = "".join(
        [stream.feed("it is acme_widget="), stream.feed(TOKEN), stream.feed(" so"), stream.end()]
    )
    assert TOKEN not in said


def test_rules_of_a_redactor_travel_in_its_policy() -> None:
    said = Redactor(bytes(32), rules=(ACME,)).policy["rules"]
    assert isinstance(said, list | tuple)
    assert said[0]["id"] == "acme-widget"


def test_a_rule_costs_a_long_text_no_more_than_its_length() -> None:
    rule = SecretRule("x", r"acme.{0,200}?(\d{40})", ("acme",))

    def took(times: int) -> float:
        text = b"acme acme 12345 " * times
        began = time.process_time()
        assert list(found_by(rule, text)) == []
        return time.process_time() - began

    took(1000)
    assert took(40_000) < 20 * max(took(4000), 0.001)

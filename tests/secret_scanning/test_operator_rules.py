"""Rules of an operator's own: what their regexes, groups, entropy and allow-lists find, through the whole of redaction."""

from __future__ import annotations

import json
import time

import pytest

from gatewright.secret_scanning import Redactor, operator_rules
from gatewright.secret_scanning.operator_rules import (
    AllowList,
    SecretRule,
    found_by,
    keyed,
    prepared,
)
from gatewright.secret_scanning.patterns import Pattern
from tests.costs import lines_run

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


KEY = "a1b2c3d4e5f6a7b8c9d0e1f2a3b4c5d6"
GROUPLESS = SecretRule("g", r"""acme_deploy["']?\s{0,3}[:=]\s{0,3}["']?[a-z0-9]{32}""", ("acme",))


def cleaned(document: object, *rules: SecretRule) -> str:
    redactor = Redactor(bytes(32), secrets=False, rules=rules, held=None)
    return redactor.json(json.dumps(document).encode()).text.decode()


def test_a_match_that_begins_in_the_name_takes_out_what_stands_in_the_value() -> None:
    said = json.loads(cleaned({"acme_deploy": KEY, "b": [1]}, GROUPLESS))
    assert said["b"] == [1]
    assert said["acme_deploy"].startswith("[REDACTED:g:")
    assert said["acme_deploy"].endswith("]")
    # What is found in the name alone is nothing of the value's.
    name = SecretRule("n", r"acme_\w{6}", ("acme",))
    assert '"v"' in cleaned({"acme_deploy": "v"}, name)


def test_a_rule_without_its_keyword_is_not_asked_of_a_member() -> None:
    rule = SecretRule("x", r"[a-z0-9]{32}", ("acme",))
    other = SecretRule("y", r"zzz_never", ("widget",))
    assert KEY in cleaned({"widget": KEY}, rule, other)
    assert KEY not in cleaned({"acme": KEY}, rule, other)


def test_a_keyword_in_the_value_is_judged_with_the_name_before_it() -> None:
    rule = SecretRule("x", r"""deploy["']?\s{0,3}[:=]\s{0,3}\[?["']?(acme[a-z0-9]{8})""", ("acme",))
    secret = "acme12ab34cd"
    for document in (
        {"deploy": secret},
        {"deploy": [secret]},
        {"deploy": ["other", "third", secret]},
    ):
        assert secret not in cleaned(document, rule)
    assert secret in cleaned({"other": secret}, rule)
    assert secret in cleaned(["deploy", secret], rule)


def test_a_group_that_took_no_part_leaves_the_whole_match() -> None:
    rule = SecretRule("x", r"key-(?:(\d{4})|[a-z]{4})", ("key-",), group=1)
    assert secrets(rule, "key-1234 key-abcd") == ["1234", "key-abcd"]


def test_an_own_keyword_makes_a_text_one_that_takes_long() -> None:
    redactor = Redactor(bytes(32), rules=(ACME,), held=None)
    assert redactor.takes_long(b'{"a": "an Acme thing"}')
    assert redactor.takes_long(rb'{"a": "an \u0061cme thing"}')
    assert not redactor.takes_long(b'{"a": "another thing"}')
    assert not Redactor(bytes(32), held=None).takes_long(b'{"a": "an Acme thing"}')


def test_what_an_allow_list_says_of_a_line_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = SecretRule("x", r"acme\d{4}", ("acme",), allowed=(AllowList(("nothing",), "line"),))
    seen = 0
    plain = Pattern.hits

    def counting(self: Pattern, text: bytes) -> bool:
        nonlocal seen
        seen += len(text)
        return plain(self, text)

    monkeypatch.setattr(Pattern, "hits", counting)
    text = "acme1234 " * 10_000
    assert len(secrets(rule, text)) == 10_000
    assert 0 < seen < 8 * len(text)


def test_a_stream_waits_for_what_an_own_rule_finds_in_several_words() -> None:
    rule = SecretRule("x", r"acme phrase: ([a-z]+ [a-z]+ [a-z]+)", ("acme",))
    stream = Redactor(bytes(32), rules=(rule,), held=None).stream()
    pieces = ["so acme phrase: ", "correct ", "horse ", "battery", "\nnext ", "line "]
    said = "".join([*map(stream.feed, pieces), stream.end()])
    assert "correct" not in said
    assert "horse" not in said
    assert said.endswith("next line ")


def test_regexes_are_compiled_before_they_are_asked() -> None:
    rule = SecretRule("x", r"acme5_\d{4}", ("acme",), allowed=(AllowList(("a5", "b5")),))
    assert prepared([rule, rule]) == 3
    worded = SecretRule("x", r"acme6_\d{4}", ("acme",), allowed=(AllowList((), stopwords=("a6",)),))
    assert prepared([rule, worded]) == 5


def test_stop_words_are_looked_for_in_one_search(monkeypatch: pytest.MonkeyPatch) -> None:
    words = tuple(f"zq{number:04}x" for number in range(1000))
    rule = SecretRule(
        "x", r"(?i)acme[0-9a-z]+", ("acme",), allowed=(AllowList((), stopwords=words),)
    )
    prepared([rule])
    asked = 0
    plain = Pattern.hits

    def counting(self: Pattern, text: bytes) -> bool:
        nonlocal asked
        asked += 1
        return plain(self, text)

    monkeypatch.setattr(Pattern, "hits", counting)
    assert len(secrets(rule, "acme12 " * 300 + "acmezq0007x acmeZQ0008X")) == 300
    assert asked == 302
    ran = lines_run(operator_rules, lambda: secrets(rule, "acme12 " * 300))
    assert ran < 300 * 60


@pytest.mark.parametrize("word", ["a+b", "a.b", "(ab", "\u00e9b", "[a", "a b", "x|y"])
def test_a_stop_word_is_what_it_is_written_as(word: str) -> None:
    rule = SecretRule("x", r"acme_[^;]+", ("acme",), allowed=(AllowList((), stopwords=(word,)),))
    assert secrets(rule, f"acme_1{word}2;") == []
    assert secrets(rule, "acme_1ab2;acme_12;") == ["acme_1ab2", "acme_12"]

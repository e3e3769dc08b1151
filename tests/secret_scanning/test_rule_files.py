"""Files of rules in the form of gitleaks' TOML: what is read of them, what has no effect, and errors that name the rule."""

from __future__ import annotations

import pytest

from gatewright.secret_scanning.exact import OWN
from gatewright.secret_scanning.operator_rules import AllowList
from gatewright.secret_scanning.rule_files import FILE_BYTES, MOST_RULES, read_rules

RULE = "[[rules]]\nid = 'acme-token'\nregex = '''acme_[a-z0-9]{16}'''\nkeywords = ['acme_']\n"


def problems(text: str) -> list[tuple[str, str, str]]:
    read = read_rules(text.encode())
    return list(read.problems)


def test_a_rule_is_read_with_all_that_it_may_have() -> None:
    text = """
title = "ours"
[extend]
useDefault = true
[[allowlists]]
regexes = ['''^acme_test''']
[[rules]]
id = "acme-token"
description = "of Acme"
regex = '''(?i)(acme)_([a-z0-9]{16})'''
secretGroup = 2
entropy = 3
keywords = ["ACME_", "acme-"]
tags = ["ours"]
path = '''[.]env$'''
[[rules.allowlists]]
condition = "AND"
regexTarget = "line"
regexes = ['''# sample''']
stopwords = ["Example"]
[rules.allowlist]
paths = ['''test/''']
"""
    read = read_rules(text.encode())
    assert read.problems == []
    (rule,) = read.rules
    assert (rule.id, rule.keywords, rule.group, rule.entropy) == (
        "acme-token",
        ("acme_", "acme-"),
        2,
        3.0,
    )
    assert rule.allowed == (
        AllowList(("# sample",), "line", ("example",), True),
        AllowList(("^acme_test",)),
    )
    noticed = {where for where, _ in read.notices}
    assert noticed == {
        "extend.useDefault",
        "rule acme-token: path",
        "rule acme-token: paths of its allow-list",
    }


def test_an_allow_list_of_the_file_holds_for_the_rules_that_it_names() -> None:
    other = RULE.replace("acme-token", "other-token")
    text = "[allowlist]\ntargetRules = ['other-token']\nstopwords = ['x']\n" + RULE + other
    first, second = read_rules(text.encode()).rules
    assert first.allowed == ()
    assert second.allowed == (AllowList((), stopwords=("x",)),)


@pytest.mark.parametrize(
    ("change", "where", "what", "instead"),
    [
        ("regex = '''acme_(?!x)y'''", "rule acme-token", "(?!", "allowlists"),
        ("regex = '''(?<=acme)y'''", "rule acme-token", "RE2 does not take", "secretGroup"),
        (r"regex = '''acme(.)\1'''", "rule acme-token", "RE2 does not take", "backreferences"),
        ("regex = '''acme'''\nsecretGroup = 1", "rule acme-token", "has 0", "brackets"),
        ("regex = '''(acme)?'''", "rule acme-token", "empty text", "must be there"),
        ("regex = '''acmé'''", "rule acme-token", "ASCII", "leave"),
        ("regex = 'abcd'\nentropy = 'x'", "rule acme-token", "entropy", "0 to 8"),
        ("regex = 5", "rule acme-token", "no text", "'''"),
        ("description = 'x'", "rule acme-token", "missing", "regex"),
        (f"regex = '{'a' * 2001}'", "rule acme-token", "2000", "split"),
        ("regex = 'a'\nkeywords = ['ab']", "rule acme-token", "3 to 100", "shorter"),
        ("regex = 'a'\nkeywords = ['ab\"c']", "rule acme-token", "keyword has", "JSON"),
        ("regex = 'a'\nkeywords = 'abc'", "rule acme-token", "list", "["),
        ("regex = '''[a-z]{20}'''", "rule acme-token", "no keywords", "keywords ="),
        ("regex = '''abcd|efgh'''", "rule acme-token", "no keywords", "keywords ="),
        ("regex = 'abcd'\nallowlist = 5", "rule acme-token", "no table", "allowlists"),
        ("regex = 'abcd'\nallowlist = {regexTarget='x'}", "rule acme-token", "regexTarget", "line"),
        ("regex = 'abcd'\nallowlist = {regexes=['(?=x)']}", "rule acme-token", "allow-list", "RE2"),
    ],
)
def test_what_is_wrong_with_a_rule_is_said_by_its_name(
    change: str, where: str, what: str, instead: str
) -> None:
    (said,) = problems(f"[[rules]]\nid = 'acme-token'\n{change}\n")
    assert said[0] == where
    assert what in said[1]
    assert instead in said[2]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "none"),
        ("rules = 5", "none"),
        ("[[rules", "no TOML"),
        ("[[rules]]\nid = 'A B'\nregex = 'abcd'", "no usable id"),
        ("rules = [5]", "no table"),
        (RULE + RULE, "another rule has this id"),
        ("#" * FILE_BYTES + "\n", "at most"),
        (RULE * (MOST_RULES + 1), "at most"),
        ("allowlist = 5\n" + RULE, "no table"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(text: str, what: str) -> None:
    assert any(what in said for _, said, _ in problems(text))


def test_keywords_may_be_what_the_regex_begins_with() -> None:
    for regex, word in (
        (r"\bacme_[a-z]{4}", "acme_"),
        (r"(?i)\b(?:tok-)x", "tok-"),
        (r"(acmes?)=", "acme"),
        (r"v1\.acme", "v1.acme"),
    ):
        text = f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\n"
        assert read_rules(text.encode()).rules[0].keywords == (word,)


def test_a_rule_for_files_alone_is_left_out_with_a_notice() -> None:
    read = read_rules(f"{RULE}[[rules]]\nid = 'pem-file'\npath = '[.]pem$'\n".encode())
    assert [one.id for one in read.rules] == ["acme-token"]
    assert ("rule pem-file", "it asks for files alone, so it is left out") in read.notices


@pytest.mark.parametrize(
    "regex",
    [
        "(?:acmepre_)?[A-F]{5}-[A-F]{5}",
        "(acme)?[0-9]{9}",
        "(?i)(?:acmekey[ =])*[0-9]{9}",
        "(acme){0,2}[0-9]{9}",
        r"acme[|]x\||efgh",
        r"(?:acme[^\]])?[0-9]{9}",
    ],
)
def test_no_keyword_is_guessed_from_what_may_be_left_out(regex: str) -> None:
    (said,) = problems(f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\n")
    assert "no keywords" in said[1]
    assert "keywords =" in said[2]
    assert not problems(f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\nkeywords = ['acme']\n")


def test_brackets_and_bars_in_classes_are_no_groups() -> None:
    for regex in (r"acme[)|]?[(?*]", r"acme\)?\|", r"acme[]|]", "acme[[:alpha:]|]"):
        read = read_rules(f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\n".encode())
        assert read.rules[0].keywords == ("acme",)


@pytest.mark.parametrize("targets", ["5", "'acme-token'", "[5]", "{}"])
def test_target_rules_are_a_list_of_ids(targets: str) -> None:
    said = problems(f"[[allowlists]]\ntargetRules = {targets}\nstopwords = ['x']\n{RULE}")
    assert [(where, "targetRules" in what) for where, what, _ in said] == [
        ("the allow-list of the file", True)
    ]


def test_a_target_that_is_no_rule_is_noticed() -> None:
    text = (
        f"[[allowlists]]\ntargetRules = ['acme-token', 'other', 'A b']\nstopwords = ['x']\n{RULE}"
    )
    noticed = [where for where, _ in read_rules(text.encode()).notices]
    before = "the file: targetRules of its allow-list: "
    assert noticed == [before + "a text that is no id", before + "other"]


def test_a_byte_order_mark_is_no_part_of_the_file() -> None:
    assert not problems("\ufeff" + RULE)


@pytest.mark.parametrize("said", ["0", "''", "false"])
def test_keywords_that_are_no_list_are_named(said: str) -> None:
    (found,) = problems(f"[[rules]]\nid = 'x'\nregex = 'acme_x'\nkeywords = {said}\n")
    assert "keywords is no list" in found[1]


def test_a_rule_over_several_lines_is_noticed() -> None:
    for regex in (r"acme\n\d{4}", "acme\n[0-9]{4}"):
        read = read_rules(f"[[rules]]\nid = 'x'\nregex = '''{regex}'''\n".encode())
        assert [where for where, _ in read.notices] == ["rule x: a new line in its regex"]
    assert not read_rules(RULE.encode()).notices


def test_regexes_of_one_rule_are_limited() -> None:
    lists = f"[[allowlists]]\nregexes = {['x'] * 60}\n"
    own = f"[[rules.allowlists]]\nregexes = {['y'] * 41}\n"
    (said,) = problems(lists + RULE + own)
    assert "101 regexes" in said[1]
    assert not problems(RULE + own)


@pytest.mark.parametrize("condition", ["XOR", "and ", "ALL", "or not"])
def test_a_condition_that_is_none_is_refused(condition: str) -> None:
    said = f"condition = '{condition}'\nregexes = ['a']"
    found = read_rules(f"{RULE}[[rules.allowlists]]\n{said}\n".encode())
    assert [what for _, what, _ in found.problems] == ["condition of an allow-list is not known"]


@pytest.mark.parametrize("member", ["stopWords", "regex", "Regexes", "files"])
def test_a_member_that_is_not_known_makes_no_list_wider(member: str) -> None:
    said = f"[[rules.allowlists]]\nregexes = ['a']\n{member} = ['b']\n"
    found = read_rules((RULE + said).encode())
    assert found.notices == [(f"rule acme-token: {member} of its allow-list", "it is not known")]
    found = read_rules((RULE + said + "condition = '&&'\n").encode())
    assert member in found.problems[0][1]


def test_a_rule_has_not_the_id_of_values_of_the_configuration() -> None:
    assert read_rules(RULE.replace("acme-token", OWN, 1).encode()).problems[0][0] == f"rule {OWN}"

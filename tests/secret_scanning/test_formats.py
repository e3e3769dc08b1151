"""The table of token formats: each row finds what it describes, in whatever it is wrapped."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from gatewright.secret_scanning.formats import formats
from gatewright.secret_scanning.names import is_example
from gatewright.secret_scanning.scanner import scanner

SECRETS = scanner(secrets=True, personal=frozenset())


@pytest.mark.parametrize(("rule", "hint", "rest"), formats())
@settings(max_examples=5, suppress_health_check=list(HealthCheck), deadline=None)
@given(data=st.data())
def test_each_format_is_found_and_nothing_of_it_remains(
    rule: str, hint: str, rest: str, data: st.DataObject
) -> None:
    """GRH-out-1"""
    pattern = re.compile(f"(?:{hint})(?:{rest})", re.ASCII)
    token = data.draw(st.from_regex(pattern, fullmatch=True)).strip()
    assume(token.isascii() and token.isprintable() and not is_example(token))
    assume(pattern.fullmatch(token) is not None)
    text = f"it said: ({token}) and went on".encode()
    assert SECRETS.worth_a_look(text)
    assert token.encode() not in SECRETS.replaced(text, lambda rule, _: b"*")[0]


def test_hints_are_particular_enough_to_be_rare_in_ordinary_text() -> None:
    for rule, hint, rest in formats():
        fixed = re.sub(r"\\b|\(\?:|\[[^]]*\]|\{[^}]*\}|[\\()|?*+]", "", hint)
        assert len(fixed) >= 2 or not rest or "{" in hint, rule


def test_every_rule_has_a_name_that_can_stand_in_a_mark() -> None:
    assert all(re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule) for rule, _, _ in formats())

"""Why a verdict is what it is: the effect that decided, its entry and file, and settings that really let it pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gatewright.schemas.objection import Objection
from gatewright.validators.registry import preparer
from gatewright.validators.why import Step, Why, _widened, why


def explained(validator: str, options: Mapping[str, Any], value: Any) -> Why:
    prepare = preparer(validator)
    assert prepare is not None
    found = why(validator, prepare, options, value, lambda tried: prepare(tried, "").judge(value))
    objection = prepare(options, "").judge(value)
    assert found.rule == (None if objection is None else objection.rule)
    for one in found.widened_by:
        assert prepare(one, "").judge(value) is None
    return found


def test_the_effect_that_decides_is_the_last_with_its_entry_option_and_file() -> None:
    found = explained("sandbox", {"allow": ["inspect"]}, "git status && git stash list --output=x")
    assert found.rule == "option"
    assert found.steps[-1] == Step(
        entry="git stash list",
        option="--output",
        effect="writes",
        value="x",
        table="git.toml",
        rule="option",
    )
    assert [one.rule for one in found.steps[:-1]] == [None] * (len(found.steps) - 1)
    assert list(found.widened_by) == [{"allow": ["develop"]}]


def test_what_passes_says_what_it_does() -> None:
    found = explained("sandbox", {"allow": ["develop"]}, "cat a.txt > b.txt")
    assert found.rule is None
    assert {(one.entry, one.effect) for one in found.steps} >= {("cat", "reads")}
    assert "writes" in {one.effect for one in found.steps}
    assert not found.widened_by


@pytest.mark.parametrize(
    ("validator", "options", "value", "rule", "widened"),
    [
        ("sandbox", {"allow": ["inspect"]}, "curl https://a.example/", "network", {"allow": ["inspect", "network"]}),
        ("sandbox", {}, "own-tool x", "unknown_program", {"programs": ["own-tool"]}),
        ("sandbox", {}, "ls | wc", None, None),
        ("sandbox", {"allow": ["develop"]}, "cat ~/.ssh/id_rsa", "host_file", None),
        ("readonly", {}, "rm x", "unknown_statement", None),
        ("readonly", {}, "DROP TABLE t", "write_statement", None),
        ("paths", {"root": "/data"}, "/etc/x", "absolute", {"root": "/etc"}),
        ("network_restricted", {"hosts": ["a.example"]}, "https://b.example/x", "not_listed", {"hosts": ["a.example", "b.example"]}),
        ("network_restricted", {}, "http://127.0.0.1/", "internal_address", None),
    ],
)  # fmt: skip
def test_rule_and_narrowest_setting(
    validator: str, options: dict[str, Any], value: str, rule: str | None, widened: Any
) -> None:
    found = explained(validator, options, value)
    if value != "ls | wc":  # whose rule is a construct of the grammar
        assert found.rule == rule
    if widened is not None:
        assert dict(found.widened_by[0]) == widened
    elif value != "ls | wc":
        assert not found.widened_by


def test_an_import_that_may_be_allowed_by_name_comes_before_a_lower_level() -> None:
    found = explained("code_safety", {"level": "strict"}, "import requests\n")
    assert dict(found.widened_by[0]) == {"level": "strict", "allowed_imports": ["requests"]}
    assert {"level": "standard"} in [dict(one) for one in found.widened_by]


def test_a_pipe_is_let_pass_by_a_preset_or_by_pipes() -> None:
    found = explained("sandbox", {}, "ls | wc")
    assert {"allow": ["inspect"]} in [dict(one) for one in found.widened_by]
    assert {"pipes": True} in [dict(one) for one in found.widened_by]


@pytest.mark.parametrize("value", ["", "''", ["", "x"], []])
def test_what_has_no_word_to_name_has_no_step(value: Any) -> None:
    found = explained("sandbox", {"allow": ["inspect"]}, value)
    assert found.rule is not None
    assert not found.steps


def test_an_option_that_was_said_is_said_again_also_where_it_is_empty() -> None:
    options = {"hosts": ["a.example"], "ports": []}
    found = list(
        _widened(
            "network_restricted",
            options,
            Objection("", "not_listed", ""),
            "https://b.example/",
            lambda tried: None,
        )
    )
    assert dict(found[0]) == {"hosts": ["a.example", "b.example"], "ports": []}

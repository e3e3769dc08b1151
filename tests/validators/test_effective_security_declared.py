"""Whose word about a validator's arguments and options counts."""

from typing import Any

import msgspec
import pytest

from gatewright.validators.effective_security import declared_for


class Word(msgspec.Struct, frozen=True):
    """The operator about one tool."""

    validator: str | None = None
    validator_args: tuple[str, ...] = ()
    validator_options: dict[str, Any] = {}


def test_a_server_chooses_for_the_validator_it_named_itself() -> None:
    """MGP-7.3-1: lists of its own are enforced."""
    theirs = {
        "validator": "code_safety",
        "validator_args": ["/code"],
        "code_safety": {"level": "strict"},
    }
    found = declared_for("code_safety", theirs, None)
    assert found == ({"code_safety": ("/code",)}, {"code_safety": {"level": "strict"}})


def test_a_server_does_not_choose_for_the_validator_of_the_operator() -> None:
    """MGP-4.5-7"""
    theirs = {"validator": "sandbox", "validator_args": ["/none"], "sandbox": {"programs": ["rm"]}}
    assert declared_for("sandbox", theirs, Word("sandbox")) == ({}, {})
    assert declared_for("sandbox", {**theirs, "validator": "none"}, None) == ({}, {})


def test_the_operator_chooses_for_his_own_validator() -> None:
    word = Word("sandbox", ("/command",), {"mode": "strict"})
    assert declared_for("sandbox", {}, word) == (
        {"sandbox": ("/command",)},
        {"sandbox": {"mode": "strict"}},
    )


def test_both_choose_where_each_named_another_one() -> None:
    theirs = {
        "validator": "paths",
        "validator_args": {"paths": ["/file"], "x": ["/y"]},
        "paths": {"root": "/a"},
    }
    assert declared_for("paths+sandbox", theirs, Word("sandbox", ("/c",))) == (
        {"paths": ("/file",), "sandbox": ("/c",)},
        {"paths": {"root": "/a"}},
    )


@pytest.mark.parametrize(
    ("level", "kept"),
    [("strict", "strict"), ("unrestricted", "standard"), (None, "standard"), (3, "standard")],
)
def test_code_rules_of_a_server_hold_as_far_as_they_make_nothing_milder(
    level: Any, kept: str
) -> None:
    theirs = {"validator": "none", "code_safety": {"level": level, "blocked_imports": ["x"]}}
    _, options = declared_for("code_safety", theirs, Word("code_safety"))
    assert options == {"code_safety": {"level": kept, "blocked_imports": ["x"]}}
    assert declared_for("code_safety", {}, Word("code_safety")) == ({}, {})


@pytest.mark.parametrize("pointers", [None, "x", ["a"], [3], {"paths": 3}, {}, []])
def test_pointers_that_cannot_be_read_choose_nothing(pointers: Any) -> None:
    theirs = {"validator": "paths", "validator_args": pointers}
    assert declared_for("paths", theirs, None) == ({}, {})


def test_options_that_cannot_be_read_are_options_that_nobody_takes() -> None:
    _, options = declared_for("paths", {"validator": "paths", "paths": "/srv"}, None)
    assert options == {"paths": {"unusable": True}}

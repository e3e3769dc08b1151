from __future__ import annotations

from typing import Any

import pytest

from gatewright.dialects.groundhog.argument_risk import argument_risk


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "/etc/passwd"},
        {"path": "C:\\etc\\hosts"},
        {"a": {"b": ["x", "/home/me/.ssh/id_rsa"]}},
        {"file": "deploy/server.key"},
        {"file": ".env.production"},
        {"url": "http://169.254.169.254/latest"},
        {"password": "x"},
        {"api_key": ""},
        {"many": [str(number) for number in range(2000)]},
    ],
)
def test_sensitive_places_and_words_are_dangerous(arguments: dict[str, Any]) -> None:
    """GRH-aud-5."""
    assert argument_risk(arguments) == "dangerous"


@pytest.mark.parametrize("path", ["../x", "a/../b", "..", "a\\..\\b"])
def test_a_path_that_climbs_is_moderate(path: str) -> None:
    """GRH-aud-5."""
    assert argument_risk({"path": path}) == "moderate"


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"path": "./src", "recursive": True, "max_depth": 3},
        {"query": "the etc of it", "n": 1.5},
        {"text": "a monkey.keys file"},
        {"note": "wait... what"},
    ],
)
def test_ordinary_arguments_say_nothing(arguments: dict[str, Any]) -> None:
    """GRH-aud-5."""
    assert argument_risk(arguments) == ""


def test_what_is_looked_at_is_bounded() -> None:
    """GRH-aud-5: a thousand texts, the names of members among them, and the beginning of each."""
    assert argument_risk({"many": ["x"] * 999}) == ""
    assert argument_risk({"many": ["x"] * 1000}) == "dangerous"
    assert argument_risk({"path": "x" * 4092 + "/etc"}) == "dangerous"
    assert argument_risk({"path": "x" * 4093 + "/etc/y"}) == ""
    assert argument_risk({"path": "x" * 4094 + "/../y"}) == ""
    assert argument_risk({"path": "x" * 4093 + "/../y"}) == "moderate"


def test_the_worst_of_several_counts_and_names_do_not_climb() -> None:
    """GRH-aud-5."""
    assert argument_risk({"a": "../x", "b": "/etc/x"}) == "dangerous"
    assert argument_risk({"../x": 1}) == ""
    assert argument_risk({"/etc/x": 1, "note": "password"}) == ""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.validators.argument_risk import argument_risk


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

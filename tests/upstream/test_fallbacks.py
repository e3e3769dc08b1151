"""A fallback tool is named as the caller knows it (MGP-14.5-1)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.upstream.fallbacks import rename_fallback

ERROR = {
    "code": 3000,
    "message": "fallback_tool",
    "data": {"kept": 1.50, "_mgp": {"retryable": True, "fallback_tool": "other"}},
}


def renamed(error: Any, names: dict[str, str]) -> Any:
    return json.loads(rename_fallback(json.dumps(error).encode(), names.get))


def test_the_name_is_the_callers_and_all_else_is_kept() -> None:
    found = renamed(ERROR, {"other": "f__other"})
    assert found["data"]["_mgp"] == {"retryable": True, "fallback_tool": "f__other"}
    assert (found["message"], found["data"]["kept"]) == ("fallback_tool", 1.5)


def test_a_tool_that_the_caller_does_not_know_is_not_named() -> None:
    assert renamed(ERROR, {})["data"]["_mgp"] == {"retryable": True}


@pytest.mark.parametrize(
    "error",
    [
        {"code": 1, "message": "x"},
        {"code": 1, "message": "fallback_tool"},
        {"code": 1, "message": "fallback_tool", "data": []},
        {"code": 1, "message": "x", "data": {"fallback_tool": "other"}},
        {"code": 1, "message": "x", "data": {"_mgp": "fallback_tool"}},
    ],
)
def test_an_error_without_one_stays_as_it_is(error: Any) -> None:
    text = json.dumps(error).encode()
    assert rename_fallback(text, {"other": "x"}.get) is text

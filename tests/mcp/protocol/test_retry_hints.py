"""A server's own error keeps no promise that its call may be made again, and names a fallback tool as the caller knows it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.protocol import retry_hints
from gatewright.mcp.protocol.retry_hints import MIRROR, unpromised
from gatewright.mcp.wire.codes import REASONS, UNTOUCHED

ERROR = {
    "code": 3000,
    "message": "fallback_tool",
    "data": {"kept": 1.50, "_mgp": {"retryable": True, "fallback_tool": "other"}},
}


def renamed(error: Any, names: dict[str, str]) -> Any:
    return json.loads(retry_hints.renamed(json.dumps(error).encode(), names.get))


def test_the_name_is_the_callers_and_all_else_is_kept() -> None:
    """MGP-14.5-1."""
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
        {"code": 1, "message": "x", "data": {"_mgp": "fallback_tool"}},
    ],
)
def test_an_error_without_one_stays_as_it_is(error: Any) -> None:
    text = json.dumps(error).encode()
    assert retry_hints.renamed(text, {"other": "x"}.get) is text


@pytest.mark.parametrize(
    "data",
    [
        {"fallback_tool": "other"},
        {"_mgp": {"fallback_tool": "other"}},
        {"_meta": {MIRROR: {"fallback_tool": "other"}}},
    ],
)
def test_a_fallback_is_renamed_wherever_clients_read_it(data: Any) -> None:
    error = {"code": 3000, "message": "x", "data": data}
    assert '"f__other"' in json.dumps(renamed(error, {"other": "f__other"}))
    assert "other" not in json.dumps(renamed(error, {}))


_PROMISE = {"retryable": True, "retry_after_ms": 5, "max_retries": 3, "fallback_tool": "x"}


@pytest.mark.parametrize("code", sorted({row.mgp_code for row in REASONS.values()} | {1, -32003}))
@pytest.mark.parametrize("place", ["bare", "_mgp", "mirror"])
def test_only_a_code_that_says_that_nothing_ran_keeps_its_promise(code: int, place: str) -> None:
    """MGP-14.5-1; and none keeps it where MGP was not negotiated."""
    said = {**_PROMISE, "kept": 1, "details": {"sent": False, "limit": 9}}
    data: Any = {"bare": said, "_mgp": {"_mgp": said}, "mirror": {"_meta": {MIRROR: said}}}[place]
    text = json.dumps({"code": code, "message": "x", "data": data}).encode()
    if code in UNTOUCHED:
        assert unpromised(text, mgp=True) is text
    data = json.loads(unpromised(text, mgp=code not in UNTOUCHED))["data"]
    found = {"bare": data, "_mgp": data.get("_mgp"), "mirror": data.get("_meta", {}).get(MIRROR)}
    assert found[place] == {"retryable": False, "kept": 1, "details": {"limit": 9}}


def test_a_code_of_refusal_that_says_that_it_was_sent_is_no_refusal() -> None:
    said = {**_PROMISE, "details": {"sent": True}}
    text = json.dumps({"code": 3000, "message": "x", "data": {"_mgp": said}}).encode()
    found = json.loads(unpromised(text, mgp=True))["data"]["_mgp"]
    assert found == {"retryable": False, "details": {"sent": True}}


@pytest.mark.parametrize("code", [[], {}, None, "3000", 3000.0, 1.5, True])
def test_a_code_that_is_none_promises_nothing_and_breaks_nothing(code: Any) -> None:
    text = json.dumps({"code": code, "message": "x", "data": {"retryable": True}}).encode()
    assert json.loads(unpromised(text, mgp=True))["data"] == {"retryable": False}


@pytest.mark.parametrize("unit", ["x", "\uff41" * 240, "retry"])
def test_data_of_more_members_than_are_compared_keeps_those_that_are_known(unit: str) -> None:
    strange = {f"{unit}{one}": 1 for one in range(3000)}
    data = {**strange, "retryable": True, "Retry_After_Ms": 5, "details": {"a": 1}}
    error = json.dumps({"code": -32000, "message": "no", "data": data}, ensure_ascii=False).encode()
    found = json.loads(unpromised(error, mgp=True))["data"]
    assert "Retry_After_Ms" not in found
    assert (found["retryable"], found["details"]) == (False, {"a": 1})
    assert len(found) in {2, 3002}

"""Which exception ends a call."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Failure, Refusal
from gatewright.mcp.wire.headers_and_meta import ERROR_ORIGIN
from gatewright.sdk import errors
from gatewright.sdk.client.calls import raised


def answered(code: Any, **data: Any) -> errors.SdkError:
    """The exception for a server's own error."""
    error: dict[str, Any] = {"code": code, "message": "no", "extra": [1]}
    if data:
        error["data"] = data
    return raised(Failure("upstream_error", error=json.dumps(error).encode(), mgp=True), 30)


@pytest.mark.parametrize(
    ("code", "data", "kind"),
    [
        (4000, {}, errors.SchemaError),
        (4001, {}, errors.ToolNotFoundError),
        (1000, {}, errors.AccessError),
        (3000, {}, errors.LimitError),
        (3003, {}, errors.TimeoutError),
        (2001, {}, errors.TransportError),
        (-32602, {}, errors.SchemaError),
        (-32602, {"reason": "tool_not_found"}, errors.ToolNotFoundError),
        (-32602, {"reason": "said by a stranger"}, errors.SchemaError),
        (-32601, {}, errors.TransportError),
        (-32600, {}, errors.ValidationError),
        (-32603, {}, errors.InternalError),
        (-31001, {}, errors.InternalError),
        ("x", {}, errors.InternalError),
    ],
)
def test_each_error_becomes_its_exception_and_stays_whole_in_the_details(
    code: Any, data: dict[str, Any], kind: type[errors.SdkError]
) -> None:
    """MGP-14.3, CDM-err-3."""
    found = answered(code, **data)
    assert type(found) is kind
    assert found.message == "no"
    assert found.details == {"code": code, "message": "no", "extra": [1]} | (
        {"data": data} if data else {}
    )


@pytest.mark.parametrize("code", [1000, 2001, 3000, 3003, 4001])
def test_a_code_that_is_no_mgp_has_no_meaning(code: int) -> None:
    error = json.dumps({"code": code, "message": "no"}).encode()
    found = raised(Failure("upstream_error", error=error), 30)
    assert (type(found), found.retryable) == (errors.InternalError, False)
    behind = answered(code, _meta={ERROR_ORIGIN: "server"}, _mgp={"retryable": False})
    assert (type(behind), behind.retryable) == (errors.InternalError, False)


def test_what_an_error_says_of_asking_again_counts_more_than_its_reason() -> None:
    assert answered(3000).retryable
    assert not answered(3000, _mgp={"retryable": False}).retryable
    assert not answered(-32000, reason="rate_limited", _mgp={"retryable": False}).retryable


def test_an_error_that_cannot_be_read_is_named() -> None:
    found = raised(Failure("upstream_error", error=b"{"), 30)
    assert isinstance(found, errors.TransportError)
    assert "cannot be read" in str(found)


def test_our_own_findings_have_their_exceptions_as_well() -> None:
    """CDM-err-1, CDM-err-6."""
    late = raised(Failure("upstream_timeout", "no answer"), 1.5)
    assert isinstance(late, errors.TimeoutError)
    assert isinstance(late, TimeoutError)
    assert "1.5 s" in str(late)
    gone = raised(Failure("upstream_unavailable", "it ended"), 1)
    assert isinstance(gone, errors.TransportError)
    busy = raised(Refusal("resource_exhausted", "too many"), 1)
    assert isinstance(busy, errors.LimitError)

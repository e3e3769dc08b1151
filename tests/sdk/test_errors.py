from __future__ import annotations

import builtins

import pytest

from gatewright.mcp.wire.codes import REASONS, UNTOUCHED
from gatewright.sdk import errors

SEVEN = {
    errors.TransportError: "retry with backoff",
    errors.ToolNotFoundError: "list_registered_tools()",
    errors.SchemaError: "get_tool_schema(name)",
    errors.ValidationError: "required member",
    errors.SerializationError: "JSON values",
    errors.TimeoutError: "Raise the limit",
    errors.RegistrationError: "declaration",
}


@pytest.mark.parametrize(("kind", "advice"), SEVEN.items())
def test_each_of_the_seven_errors_says_what_to_do_next(
    kind: type[errors.SdkError], advice: str
) -> None:
    """CDM-err-1 to CDM-err-7: the resolution of the table is part of the message."""
    problem = kind("it broke")
    assert str(problem).startswith("it broke. ")
    assert advice in str(problem)


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_has_a_class_with_codes_in_the_promised_ranges(reason: str) -> None:
    """CDM-con-7: -32600 to -32603 (and the parse error) for the protocol, -32000 for all else."""
    problem = errors.error_of(reason, "it broke", details={"path": "/a"})
    body = problem.to_error()
    assert body["code"] == -32700 or -32603 <= body["code"] <= -32600 or body["code"] == -32000
    assert body["data"]["reason"] == reason
    assert body["data"]["path"] == "/a"
    row = REASONS[reason]
    surely = row.retryable and row.mgp_code in UNTOUCHED
    assert problem.retryable is surely is body["data"]["_mgp"]["retryable"]
    unsent = errors.error_of(reason, "it broke", details={"sent": False})
    assert unsent.retryable is row.retryable
    wanted = row.codomyrmex if row.codomyrmex != "isError" else "InternalError"
    assert type(problem).__name__ == wanted


def test_a_time_limit_can_be_caught_like_any_other_of_python() -> None:
    """CDM-err-6"""
    with pytest.raises(builtins.TimeoutError):
        raise errors.TimeoutError("slow")


def test_transport_errors_say_how_to_retry() -> None:
    """CDM-err-8: the hints a client needs to retry with backoff."""
    assert errors.TransportError("the answer was lost").recovery["retryable"] is False
    hints = errors.TransportError("refused", details={"sent": False}).recovery
    assert hints["retryable"] is True
    assert hints["retry_strategy"] == "exponential_backoff"


def test_a_reason_that_nobody_defined_is_an_internal_error() -> None:
    assert errors.error_class("unheard_of") is errors.InternalError

"""Asking whether arguments would do, without calling."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.dialects.mgp.validate import METHOD, Validate
from gatewright.kernel import Kernel
from gatewright.schemas.gate import Schema
from tests.gate_parts import Mute, a_call, a_tool
from tests.kernel_parts import Book
from tests.tool_servers.finance import ANALYZER

TOOL = replace(a_tool("FinancialAnalyzer"), schema=ANALYZER["inputSchema"])


class Says:
    """A gate that says one thing."""

    def __init__(self, name: str, refusal: Refusal | None = None) -> None:
        self.name = name
        self.refusal = refusal

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        if self.name == "resolve":
            call = replace(call, target=TOOL.target, tool=TOOL)
        return self.refusal or call


async def never(call: Call, back: Back) -> Outcome:
    raise AssertionError("a tool was run that was only asked about")


async def outcome(params: dict[str, Any], *gates: Says) -> Outcome:
    kernel = Kernel([Says("resolve"), *gates[:1], Schema(), *gates[1:]], never, [], Book())
    call = replace(a_call("method", "", method=METHOD), params=params)
    return await Validate(kernel)(call, Mute())


async def answered(arguments: Any, *gates: Says) -> dict[str, Any]:
    params = {"name": "FinancialAnalyzer", "arguments": arguments}
    found = await outcome(params, Says("access"), *gates)
    assert isinstance(found, Answer)
    said: dict[str, Any] = json.loads(found.raw)
    return said


async def test_what_fits_is_valid() -> None:
    """GGEN-core-4."""
    said = await answered({"ticker_symbol": "AAPL", "period_days": 90})
    assert said == {"valid": True, "errors": []}


async def test_what_does_not_fit_is_told_field_by_field() -> None:
    """GGEN-core-4."""
    said = await answered({"ticker_symbol": "aapl"})
    assert said["valid"] is False
    assert sorted(one["field"] for one in said["errors"]) == ["period_days", "ticker_symbol"]


async def test_what_a_validator_says_is_told_too() -> None:
    """GGEN-core-4, GGEN-p4-3: a plug-in is asked like the schema."""
    objection = Refusal("validation_blocked", "not on Sundays", {"path": "/period_days"})
    good = {"ticker_symbol": "AAPL", "period_days": 90}
    said = await answered(good, Says("validators", objection))
    assert said["errors"] == [
        {
            "error_type": "ValidationError",
            "field": "period_days",
            "reason": "not on Sundays",
            "suggestions": [],
            "documentation_url": None,
        }
    ]


async def test_who_would_have_to_agree_is_not_the_question() -> None:
    good = {"ticker_symbol": "AAPL", "period_days": 90}
    asks = Says("confirm", Refusal("confirmation_required", "ask somebody"))
    needs = Says("permission", Refusal("permission_denied", "no"))
    assert (await answered(good, asks, needs))["valid"] is True


async def test_a_tool_that_may_not_be_called_cannot_be_asked_about() -> None:
    denied = Refusal("access_denied", "no")
    found = await outcome({"name": "FinancialAnalyzer"}, Says("access", denied))
    assert isinstance(found, Refusal)
    assert found.reason == "access_denied"


@pytest.mark.parametrize("params", [{}, {"name": 7}, {"name": "x", "arguments": [1]}])
async def test_params_of_another_shape_are_refused(params: dict[str, Any]) -> None:
    found = await outcome(params, Says("access"))
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"


@pytest.mark.parametrize("arguments", [[], "", 0, False])
async def test_what_is_no_object_is_no_arguments(arguments: Any) -> None:
    """GGEN-core-4: what a call would be refused for is not called valid."""
    params = {"name": "FinancialAnalyzer", "arguments": arguments}
    found = await outcome(params, Says("access"))
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"

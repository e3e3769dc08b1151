"""The gate `validators`: named checks run before anything is forwarded."""

from __future__ import annotations

import pytest

from gatewright.call import Refusal
from gatewright.gates.validators import Validators
from tests.gates.parts import Mute, a_call, a_tool, a_tool_call


@pytest.mark.parametrize("text", ["echo $(id)", "ls | id", "rm -rf x"])
async def test_the_sandbox_blocks_what_a_shell_could_read(text: str) -> None:
    """MGP-4.5-1 and MGP-14.3-5: a substitution, a pipe, a recursive delete."""
    call = a_tool_call(a_tool(validator="sandbox"), arguments={"command": text})
    found = await Validators()(call, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "validation_blocked"
    assert found.details["validator"] == "sandbox"
    assert call.facts == {"validator_applied": "sandbox"}


async def test_what_the_sandbox_accepts_is_handed_on_and_noted() -> None:
    call = a_tool_call(a_tool(validator="sandbox"), arguments={"command": "ls -l"})
    assert await Validators()(call, Mute()) is call
    assert call.facts == {"validator_applied": "sandbox"}


async def test_the_validator_none_applies_nothing() -> None:
    """MGP-4.5-5"""
    call = a_tool_call(a_tool(validator="none"), arguments={"command": "echo $(id)"})
    assert await Validators()(call, Mute()) is call
    assert call.facts == {}


@pytest.mark.parametrize(
    "validator",
    [
        "readonly",
        "network_restricted",
        "code_safety",
        "strong",
        "unreadable",
        "",
        "sandbox+readonly",
    ],
)
async def test_a_validator_that_this_version_does_not_have_refuses_the_call(validator: str) -> None:
    call = a_tool_call(a_tool(validator=validator), arguments={"command": "ls"})
    found = await Validators()(call, Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "policy_violation"
    assert "is not available in this version" in found.message
    assert found.details["available"] == ["none", "sandbox"]


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_what_is_no_tool_has_no_validator(kind: str) -> None:
    call = a_call(kind, arguments={"x": "$(id)"})  # type: ignore[arg-type]
    assert await Validators()(call, Mute()) is call

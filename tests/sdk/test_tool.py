from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gatewright.sdk import RegistrationError, SchemaError, Tool, ToolSecurity
from gatewright.sdk.tool import canonical

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}}}


def add(a: int) -> int:
    return a


def tool(**changes: Any) -> Tool:
    given: dict[str, Any] = {
        "name": "add",
        "description": "Adds.",
        "input_schema": SCHEMA,
        "function": add,
    }
    return Tool(**{**given, **changes})


def test_a_tool_cannot_be_changed_and_keeps_its_own_schema() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    made = tool(input_schema=schema)
    schema["properties"]["a"]["type"] = "string"  # type: ignore[index]
    assert made.input_schema == SCHEMA
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]


def test_the_fingerprint_ignores_the_order_of_members_and_nothing_else() -> None:
    turned = {"properties": {"a": {"type": "integer"}}, "type": "object"}
    assert tool(input_schema=turned).fingerprint == tool().fingerprint
    different = [
        tool(version="2.0.0"),
        tool(name="other"),
        tool(input_schema={"type": "object", "properties": {"b": {"type": "integer"}}}),
        tool(output_schema={"type": "object"}),
        tool(destructive=True),
        tool(security=ToolSecurity(validator="shell")),
    ]
    assert len({one.fingerprint for one in [tool(), *different]}) == 7


def test_canonical_json_refuses_what_json_cannot_say() -> None:
    assert canonical({"b": 1, "a": "ü"}) == '{"a":"ü","b":1}'.encode()
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})


def test_the_registration_entry_has_the_members_of_the_contract() -> None:
    """CDM-mod-6, CDM-mod-7: name, description, inputSchema, metadata with cache_ttl 300."""
    entry = tool(module="memory").entry()
    assert {name: entry[name] for name in ("name", "description", "inputSchema")} == {
        "name": "add",
        "description": "Adds.",
        "inputSchema": SCHEMA,
    }
    promised = {"module": "memory", "destructive": False, "deprecated_in": None, "cache_ttl": 300}
    assert {name: entry["metadata"][name] for name in promised} == promised


def test_a_destructive_tool_is_dangerous_whatever_its_author_says() -> None:
    """C-43"""
    said = ToolSecurity(risk_level="safe", permissions_required=("shell.execute",))
    definition = tool(destructive=True, security=said).definition()
    assert definition["security"] == {
        "risk_level": "dangerous",
        "permissions_required": ["shell.execute"],
        "validator": "none",
        "confirmation_required": False,
    }
    assert definition["annotations"]["destructiveHint"] is True


def test_a_deprecated_tool_says_so_to_whoever_lists_it() -> None:
    """CDM-mod-9"""
    made = tool(deprecated_in="1.2.0")
    assert made.definition()["description"] == "Adds.\n\nDeprecated since 1.2.0."
    assert made.entry()["metadata"]["deprecated_in"] == "1.2.0"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": "no spaces"}, "cannot be a tool's name"),
        ({"name": 7}, "cannot be a tool's name"),
        ({"name": "x" * 129}, "cannot be a tool's name"),
        ({"function": "add"}, "cannot be called"),
        ({"version": "latest"}, "is no version"),
        ({"destructive": True, "read_only": True}, "cannot be destructive and read-only"),
        ({"security": ToolSecurity(risk_level="mild")}, "no risk level 'mild'"),  # type: ignore[arg-type]
        ({"input_schema": {"properties": {}}}, "of type object"),
        ({"input_schema": True}, "of type object"),
        ({"input_schema": {"type": "object", "default": object()}}, "is no JSON"),
        ({"output_schema": {"type": "string"}}, "outputSchema has to be"),
    ],
)
def test_a_declaration_that_cannot_work_is_refused_in_words(
    changes: dict[str, Any], words: str
) -> None:
    """CDM-err-7"""
    with pytest.raises(RegistrationError, match=words):
        tool(**changes)


def test_checking_finds_an_unusable_schema_before_the_first_call() -> None:
    bad = tool(input_schema={"type": "object", "properties": {"a": {"pattern": "("}}})
    with pytest.raises(RegistrationError, match="cannot be compiled"):
        bad.check()
    with pytest.raises(SchemaError) as caught:
        bad.input_check()
    assert caught.value.reason == "schema_unusable"


def test_checking_finds_an_example_that_does_not_fit() -> None:
    tool(examples=({"a": 1},)).check()
    with pytest.raises(RegistrationError, match="example 1 does not satisfy"):
        tool(examples=({"a": 1}, {"a": "x"})).check()


def test_coroutine_functions_are_known_in_every_disguise() -> None:
    async def waits(a: int) -> int:
        return a

    class Waits:
        async def __call__(self, a: int) -> int:
            return a

    assert not tool().waits
    assert tool(function=waits).waits
    assert tool(function=Waits()).waits

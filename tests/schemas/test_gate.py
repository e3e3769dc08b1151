"""The gate `schema`: arguments fit the tool's own schema, or the tool is not called."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import Refusal, Tool
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.gate import Schema
from gatewright.schemas.objection import Objection
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


async def _refusal(gate: Schema, tool: Tool, arguments: Any) -> Refusal:
    found = gate(a_tool_call(tool, arguments=arguments), Mute())
    assert isinstance(found, Refusal)
    return found


async def test_arguments_that_fit_are_handed_on_untouched() -> None:
    call = a_tool_call(a_tool(schema=SCHEMA), arguments={"text": "x", "more": 1})
    assert Schema()(call, Mute()) is call


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_what_is_no_tool_has_no_schema(kind: str) -> None:
    call = a_call(kind)  # type: ignore[arg-type]
    assert Schema()(call, Mute()) is call


async def test_a_tool_without_a_schema_takes_anything() -> None:
    call = a_tool_call(a_tool(), arguments={"anything": [1]})
    assert Schema()(call, Mute()) is call


async def test_arguments_that_do_not_fit_are_refused_with_place_and_rule() -> None:
    """MGP-14.3-14"""
    found = await _refusal(Schema(), a_tool(schema=SCHEMA), {"text": 7})
    assert found.reason == "invalid_args"
    assert (found.details["path"], found.details["rule"]) == ("/text", "type")
    assert "arguments/text" in found.message


async def test_absent_arguments_are_an_empty_object() -> None:
    found = await _refusal(Schema(), a_tool(schema=SCHEMA), None)
    assert (found.details["path"], found.details["rule"]) == ("", "required")
    assert "'text' is missing" in found.message
    call = a_tool_call(a_tool(schema={"type": "object"}))
    assert Schema()(call, Mute()) is call


@pytest.mark.parametrize("arguments", [[], "text", 7, False])
async def test_arguments_that_are_no_object_are_refused(arguments: Any) -> None:
    found = await _refusal(Schema(), a_tool(schema={}), arguments)
    assert (found.reason, found.message) == ("invalid_args", "arguments must be an object")


async def test_a_tool_whose_schema_cannot_be_used_is_refused_with_the_way_out() -> None:
    tool = a_tool(schema={"$ref": "file:///etc/passwd"})
    gate = Schema()
    found = await _refusal(gate, tool, {})
    assert found.reason == "schema_unusable"
    assert 'schema = "off" for the server srv' in found.message
    assert await _refusal(gate, tool, {}) == found


async def test_a_server_whose_schemas_are_off_is_not_checked() -> None:
    for schema in (SCHEMA, {"$ref": "file:///etc/passwd"}):
        call = a_tool_call(a_tool(schema=schema), arguments={"text": 7})
        assert Schema({"srv"})(call, Mute()) is call
        assert Schema({"other"})(call, Mute()) is not call


async def test_a_definition_that_changed_is_judged_by_what_it_says_now() -> None:
    gate = Schema()
    call = a_tool_call(a_tool(schema=dict(SCHEMA)), arguments={"text": "x"})
    assert gate(call, Mute()) is call
    changed = {"type": "object", "properties": {"text": {"type": "integer"}}}
    assert (await _refusal(gate, a_tool(schema=changed), {"text": "x"})).reason == "invalid_args"


async def test_a_tool_whose_results_cannot_be_checked_is_refused_before_it_runs() -> None:
    tool = a_tool(schema=SCHEMA)
    raw = msgspec.Raw(b'{"$ref":"https://schemas.example/out"}')
    tool = replace(tool, definition={**tool.definition, "outputSchema": raw})
    found = await _refusal(Schema(), tool, {"text": "x"})
    assert found.reason == "schema_unusable"
    assert "the output schema of srv__echo" in found.message
    call = a_tool_call(tool, arguments={"text": "x"})
    assert Schema({"srv"})(call, Mute()) is call


async def test_the_bounds_of_a_schema_are_those_of_the_configuration() -> None:
    schema: dict[str, Any] = {"properties": {f"p{n}": {} for n in range(20)}}
    found = await _refusal(Schema(compiled=Compiled(subschemas=10)), a_tool(schema=schema), {})
    assert found.reason == "schema_unusable"
    found = await _refusal(
        Schema(compiled=Compiled(depth=1)), a_tool(schema={"items": {"items": {}}}), {}
    )
    assert "deeper than 1 levels" in found.message


NUMBERS = {"properties": {"n": {"items": {"enum": [number + 0.5 for number in range(2000)]}}}}


@pytest.mark.parametrize("fits", [True, False])
async def test_what_a_schema_takes_long_for_is_judged_beside_the_loop(fits: bool) -> None:
    async def beside(*_: Any) -> Any:
        return None if fits else (Objection("/n", "enum", "is none of them"), [])

    gate = Schema(beside=beside)
    call = a_tool_call(a_tool(schema=NUMBERS), arguments={"n": [1999.5] * 20})
    found = gate(call, Mute())
    assert isinstance(found, Awaitable)
    outcome = await found
    assert (outcome is call) is fits
    few = a_tool_call(a_tool(schema=NUMBERS), arguments={"n": [1999.5]})
    assert gate(few, Mute()) is few

"""The messages of seed 004's model_context_protocol."""

from __future__ import annotations

import json
import socket
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.sdk import (
    Registry,
    SerializationError,
    ToolError,
    ToolNotFoundError,
    ValidationError,
    mcp_tool,
)
from gatewright.sdk.messages import ContentBlock, MCPToolCall, MCPToolResult, ToolOutcome, answer

CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "tools/call",
    "id": "42",
    "params": {"name": "memory_put", "arguments": {"key": "a"}},
}
RESULT: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 7,
    "result": {"content": [{"type": "text", "text": '{"stored": true}'}], "isError": False},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_the_messages_of_the_seed_are_valid_and_come_back_as_they_were() -> None:
    """CDM-mod-1, CDM-mod-2, CDM-mod-4, C-46"""
    assert issubclass(MCPToolCall, pydantic.BaseModel)
    assert issubclass(MCPToolResult, pydantic.BaseModel)
    assert MCPToolCall.model_validate(CALL).to_json() == CALL == MCPToolCall(**CALL).to_json()
    assert MCPToolResult.model_validate(RESULT).to_json() == RESULT
    assert MCPToolResult(**RESULT).to_json() == RESULT


def test_a_call_can_be_made_from_a_name_and_arguments() -> None:
    """CDM-mod-3, CDM-pai-3, C-40: the rest has defaults; the other project's tool_name is understood."""
    call = MCPToolCall(name="memory_put", arguments={"key": "a"})
    assert (call.name, call.arguments) == ("memory_put", {"key": "a"})
    assert call.to_json() == {**CALL, "id": call.id}
    assert isinstance(call.id, int)
    assert MCPToolCall(name="x").id != call.id
    assert MCPToolCall(tool_name="x", id="a").to_json()["params"] == {"name": "x", "arguments": {}}


def test_error_flag_and_content_of_a_result_can_be_reached() -> None:
    """CDM-mod-5, CDM-pai-4"""
    result = MCPToolResult(id=7, content=[{"type": "text", "text": "hi"}], isError=True)
    assert result.isError is True
    assert result.content == [ContentBlock(type="text", text="hi")]
    assert result.result == ToolOutcome(content=result.content, isError=True)


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"jsonrpc": "2.0", "method": "tools/call", "id": 1}, "params: Field required"),
        ({}, "params: Field required"),
        ({**CALL, "jsonrpc": "1.0"}, "jsonrpc: Input should be '2.0'"),
        ({**CALL, "method": "tools/list"}, "method: Input should be 'tools/call'"),
        ({**CALL, "id": True}, "id.int: Input should be a valid integer"),
        ({**CALL, "id": 1.5}, "id.int: Input should be a valid integer"),
        ({**CALL, "params": {"arguments": {}}}, "params.name: Field required"),
        ({"name": "x", "arguments": [1]}, "params.arguments: Input should be a valid dictionary"),
    ],
)
def test_a_call_that_is_none_is_a_validation_error_of_this_sdk(
    members: dict[str, Any], words: str
) -> None:
    """CDM-err-4, CDM-fr-1, CDM-mod-2: by constructor, mapping and text alike."""
    with pytest.raises(ValidationError, match=words) as caught:
        MCPToolCall(**members)
    assert caught.value.reason == "invalid_request"
    assert caught.value.code == -32600
    if "name" not in members:
        with pytest.raises(ValidationError, match=words):
            MCPToolCall.model_validate(members)
        with pytest.raises(ValidationError, match=words):
            MCPToolCall.from_json(json.dumps(members))
        with pytest.raises(ValidationError, match=words) as again:
            MCPToolCall.model_validate_json(json.dumps(members))
        assert (str(again.value), again.value.details) == (
            str(caught.value),
            caught.value.details,
        )


@pytest.mark.parametrize(
    ("block", "words"),
    [
        ({"type": "text"}, "text content needs text"),
        ({"type": "image", "text": "a picture"}, "image content needs data and mimeType"),
        ({"type": "resource"}, "resource content needs resource"),
        ({"type": "video"}, "Input should be 'text'"),
    ],
)
def test_content_without_what_its_kind_needs_is_refused(block: dict[str, Any], words: str) -> None:
    """CDM-mod-4, C-42"""
    with pytest.raises(ValidationError, match=words):
        MCPToolResult(id=1, content=[block])


def test_text_that_is_no_message_is_a_validation_error() -> None:
    """CDM-fr-1"""
    with pytest.raises(ValidationError, match="Invalid JSON"):
        MCPToolCall.from_json("{")
    with pytest.raises(ValidationError):
        MCPToolResult.model_validate({"jsonrpc": "2.0", "id": 1})


@given(st.text(min_size=1), st.dictionaries(st.text(), JSON, max_size=4), st.integers() | st.text())
def test_calls_come_back_from_json_as_they_were(
    name: str, arguments: dict[str, Any], ident: int | str
) -> None:
    """CDM-fr-2, C-46"""
    call = MCPToolCall(name=name, arguments=arguments, id=ident)
    again = MCPToolCall.from_json(call.to_text())
    assert again == call
    assert type(again.id) is type(ident)


def test_a_call_that_cannot_be_written_is_a_serialization_error() -> None:
    """CDM-err-5"""
    with socket.socket() as one:
        call = MCPToolCall(name="x", arguments={"s": one})
        with pytest.raises(SerializationError, match="MCPToolCall has no JSON form"):
            call.to_text()


async def test_a_call_is_answered_by_a_registry() -> None:
    """CDM-pai-3, CDM-pai-4, CDM-mod-12"""
    registry = Registry()

    @mcp_tool(registry=registry, name="memory_put")
    async def memory_put(key: str) -> dict[str, Any]:
        if not key:
            raise ToolError("a key is needed")
        return {"stored": key}

    call = MCPToolCall(name="memory_put", arguments={"key": "a"}, id="first")
    result = await answer(call, registry)
    assert (result.id, result.isError) == ("first", False)
    assert json.loads(result.content[0].text or "") == {"stored": "a"}
    failed = await answer(MCPToolCall(name="memory_put", arguments={"key": ""}), registry)
    assert (failed.isError, failed.content[0].type) == (True, "text")
    with pytest.raises(ToolNotFoundError):
        await answer(MCPToolCall(name="other"), registry)

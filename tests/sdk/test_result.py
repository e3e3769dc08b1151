from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import pytest

from gatewright.sdk import Image, Registry, Result, SerializationError, Text, mcp_tool
from gatewright.sdk.decorator import tool_from_function
from gatewright.sdk.result import result_of, tool_failure
from gatewright.sdk.tool import Tool


@dataclass
class Point:
    x: int


def given(value: Any, **options: Any) -> Result:
    declared = {"name": "t", "description": "", "input_schema": {"type": "object"}}
    return result_of(Tool(**{**declared, "function": print, **options}), value)


def test_structured_data_is_a_json_text_in_a_text_block() -> None:
    """CDM-mod-12: content[0].text parses to it; C-35: structure and raw value beside it."""
    for value, plain in (({"a": [1]}, {"a": [1]}), (Point(2), {"x": 2})):
        result = given(value)
        assert json.loads(result.content[0]["text"]) == plain
        assert (result.structured, result.value) == (plain, plain)
        assert result.to_json()["isError"] is False


def test_a_value_that_is_no_object_stands_in_a_member_result() -> None:
    assert given([1, 2]).structured == {"result": [1, 2]}
    assert given([1, 2]).value == [1, 2]
    assert given("hi") == Result(content=({"type": "text", "text": "hi"},), value="hi")
    assert given(None) == Result()


def test_content_blocks_stay_what_they_are() -> None:
    blocks = [Text("a"), Image(b"hi")]
    assert [one["type"] for one in given(blocks).content] == ["text", "image"]
    assert given(Text("a")).text == "a"
    assert given(Result(value=3)) == Result(value=3)


def test_a_deprecated_tool_warns_with_every_result() -> None:
    """CDM-mod-9: still callable, marked."""
    registry = Registry()

    @mcp_tool(registry=registry, name="old", deprecated_in="1.1.0")
    def old() -> str:
        return "still here"

    wire = registry.invoke_sync("old").to_json()
    assert wire["content"] == [{"type": "text", "text": "still here"}]
    assert wire["_meta"] == {"gatewright/warnings": ["old is deprecated since 1.1.0"]}


def test_output_that_its_own_schema_does_not_allow_is_an_error() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert given({"a": 1}, output_schema=schema).structured == {"a": 1}
    with pytest.raises(SerializationError, match="does not fit its output schema: /a"):
        given({"a": "x"}, output_schema=schema)
    with pytest.raises(SerializationError, match="does not fit"):
        given("text", output_schema=schema)


@pytest.mark.parametrize(
    ("hint", "value", "plain"),
    [
        (Point | None, Point(2), {"x": 2}),
        (Point | None, None, None),
        (dict[str, int] | None, {"a": 1}, {"a": 1}),
        (Point | list[int], Point(2), {"x": 2}),
        (str | None, "hi", "hi"),
    ],
)
def test_an_object_among_other_values_stands_where_the_output_schema_says(
    hint: Any, value: Any, plain: Any
) -> None:
    """GGEN-sig-16: what a return type allows passes the schema that is made of it."""

    def function() -> Any:
        return value

    function.__annotations__["return"] = hint
    registry = Registry()
    registry.register(tool_from_function(function, name="t"))
    result = registry.invoke_sync("t")
    assert (result.structured, result.value) == ({"result": plain}, plain)
    assert registry.get("t").output_check().objection(result.structured) is None


def test_an_object_of_a_subclass_and_members_that_are_made_pass() -> None:
    @dataclass
    class Made(Point):
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            self.twice = 2 * self.x

    registry = Registry()
    for name, hint in (("base", Point), ("itself", Made)):

        def function() -> Any:
            return Made(2)

        function.__annotations__["return"] = hint
        registry.register(tool_from_function(function, name=name))
        assert registry.invoke_sync(name).structured == {"x": 2, "twice": 4}


def test_a_decimal_of_any_spelling_passes_its_own_schema() -> None:
    def function(given: Decimal) -> Decimal:
        return given.normalize()

    registry = Registry()
    registry.register(tool_from_function(function, name="t"))
    assert registry.invoke_sync("t", {"given": "100000"}).value == "1E+5"
    assert registry.invoke_sync("t", {"given": "1E+5"}).value == "1E+5"


def test_a_whole_result_is_held_to_the_output_schema_and_keeps_the_warning() -> None:
    """GGEN-sig-16: a tool that makes its own result promises no less."""
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    with pytest.raises(SerializationError, match="does not fit its output schema"):
        given(Result(structured={"a": "x"}), output_schema=schema)
    assert given(Result(is_error=True), output_schema=schema).is_error
    found = given(Result(structured={"a": 1}), output_schema=schema, deprecated_in="2")
    assert (found.structured, found.warnings) == ({"a": 1}, ("t is deprecated since 2",))


def test_a_failure_is_text_with_the_flag() -> None:
    """CDM-pai-4: isError true and content[0].type text."""
    wire = tool_failure("it broke").to_json()
    assert wire == {"content": [{"type": "text", "text": "it broke"}], "isError": True}


def test_meta_and_warnings_stand_side_by_side() -> None:
    result = Result(meta={"mine/a": 1}, warnings=("old",))
    assert result.to_json()["_meta"] == {"mine/a": 1, "gatewright/warnings": ["old"]}
    assert "_meta" not in Result().to_json()


def test_blocks_alone_are_no_result_of_a_tool_that_promises_structure() -> None:
    promised = {"type": "object", "required": ["a"]}
    with pytest.raises(SerializationError, match="does not fit its output schema"):
        given(Text("a"), output_schema=promised)
    with pytest.raises(SerializationError, match="does not fit its output schema"):
        given([Text("a"), Image(b"hi")], output_schema=promised)

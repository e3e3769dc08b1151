from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

from gatewright.sdk import Tool, tool_from_function
from gatewright.sdk.export.model_formats import (
    FORMS,
    for_anthropic,
    for_gemini,
    for_mcp,
    for_openai,
    model_name,
    model_names,
)


@dataclass
class Node:
    name: str
    next: Node | None = None


def search(
    query: str, kind: Literal["a", "b"] = "a", limit: int | None = None, node: Node | None = None
) -> str:
    """Search."""
    return query


TOOL: Tool = tool_from_function(search, name="kb.search")


def test_openai_gets_a_function_with_parameters() -> None:
    assert for_openai([TOOL]) == [
        {
            "type": "function",
            "function": {
                "name": "kb_search",
                "description": "Search.",
                "parameters": TOOL.input_schema,
            },
        }
    ]


def test_anthropic_gets_an_input_schema() -> None:
    assert for_anthropic([TOOL]) == [
        {"name": "kb_search", "description": "Search.", "input_schema": TOOL.input_schema}
    ]


def test_gemini_gets_only_what_it_knows() -> None:
    found = for_gemini([TOOL])[0]["functionDeclarations"][0]
    assert found["name"] == "kb_search"
    parameters = found["parameters"]
    assert parameters["properties"]["limit"] == {
        "type": "integer",
        "nullable": True,
        "default": None,
    }
    assert parameters["properties"]["kind"]["format"] == "enum"
    text = str(found)
    assert not [one for one in ("$ref", "$defs", "additionalProperties", "'null'") if one in text]


def test_a_tool_without_parameters_has_none_for_gemini() -> None:
    definition = {"name": "now", "inputSchema": {"type": "object"}}
    assert for_gemini([definition]) == [
        {"functionDeclarations": [{"name": "now", "description": ""}]}
    ]


def test_gemini_gets_one_alternative_without_null_and_constants_as_enums() -> None:
    properties: dict[str, Any] = {
        "a": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        "b": {"const": "x"},
        "c": {"type": ["string", "null"], "format": "uuid"},
        "d": True,
    }
    definition = {"name": "t", "inputSchema": {"type": "object", "properties": properties}}
    found = for_gemini([definition])[0]["functionDeclarations"][0]["parameters"]["properties"]
    assert found == {
        "a": {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
        "b": {"type": "string", "format": "enum", "enum": ["x"]},
        "c": {"type": "string", "nullable": True},
        "d": {},
    }


def test_gemini_gets_the_object_that_may_be_null_and_no_schema_breaks_it() -> None:
    definitions = {"P": {"type": "object", "properties": {"x": {"type": "integer"}}}}
    properties = {
        "p": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "description": "where"},
        "any": {"anyOf": [True]},
        "none": {"anyOf": [{"type": "null"}]},
    }
    schema = {"type": "object", "properties": properties, "$defs": definitions}
    (given,) = for_gemini([{"name": "t", "inputSchema": schema}])[0]["functionDeclarations"]
    assert given["parameters"]["properties"] == {
        "p": {**definitions["P"], "nullable": True, "description": "where"},
        "any": {},
        "none": {"nullable": True},
    }


def test_mcp_gets_the_definition_whole() -> None:
    assert for_mcp([TOOL]) == {"tools": [TOOL.definition()]}


def test_names_fit_every_model_and_stay_apart() -> None:
    long = ["x" * 70 + "a", "x" * 70 + "b"]
    names = [model_name(one) for one in long]
    assert len(set(names)) == 2
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in names)
    assert set(FORMS) == {"mcp", "openai", "anthropic", "gemini"}


def test_two_names_of_a_list_never_become_one() -> None:
    names = ["a.b", "a_b", "a b", "a.b", "x" * 70, model_name("x" * 70), "\ud800", "é"]
    found = model_names(names)
    assert found["a_b"] == "a_b"
    assert len(set(found.values())) == len(set(names))
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", one) for one in found.values())
    assert model_names(["kb.search"]) == {"kb.search": "kb_search"}
    definitions = [{"name": one} for one in names]
    for form in (for_anthropic(definitions), for_gemini(definitions)[0]["functionDeclarations"]):
        assert len({one["name"] for one in form}) == len(set(names))

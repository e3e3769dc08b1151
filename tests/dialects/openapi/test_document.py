"""The OpenAPI document of some tools."""

from __future__ import annotations

import json
from typing import Any

from openapi_spec_validator import OpenAPIV30SpecValidator

from benchmarks.servers.shapes import TOOLS
from gatewright.dialects.openapi.document import document
from tests.tool_servers.finance import ANALYZER

SEED: dict[str, Any] = json.loads("""
{
  "openapi": "3.0.0",
  "info": {
    "title": "ggen Tool Registry",
    "version": "1.0.0"
  },
  "paths": {
    "/tools/{tool_name}": {
      "post": {
        "summary": "Invoke a tool",
        "parameters": [
          {
            "name": "tool_name",
            "in": "path",
            "required": true,
            "schema": { "type": "string" }
          }
        ],
        "requestBody": {
          "required": true,
          "content": {
            "application/json": {
              "schema": { "$ref": "#/components/schemas/ToolInput" }
            }
          }
        },
        "responses": {
          "200": {
            "description": "Tool execution successful",
            "content": {
              "application/json": {
                "schema": { "$ref": "#/components/schemas/ToolOutput" }
              }
            }
          },
          "400": { "$ref": "#/components/responses/ValidationError" },
          "404": { "$ref": "#/components/responses/NotFound" }
        }
      }
    }
  }
}
""")


def within(part: Any, whole: Any) -> bool:
    """Whether everything that one document says is said by the other."""
    if isinstance(part, dict):
        return isinstance(whole, dict) and all(
            name in whole and within(one, whole[name]) for name, one in part.items()
        )
    return bool(part == whole)


def references(value: Any) -> set[str]:
    if isinstance(value, dict):
        own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
        return own.union(*(references(one) for one in value.values()))
    return set().union(*map(references, value)) if isinstance(value, list) else set()


def at(root: Any, reference: str) -> Any:
    for step in reference.removeprefix("#/").split("/"):
        root = root[step]
    return root


def test_the_document_says_what_the_specifications_own_one_says() -> None:
    """GGEN-oas-1, GGEN-oas-2: title, versions, the path, its parameter, body and responses."""
    assert within(SEED, document([ANALYZER]))


def test_a_public_validator_finds_nothing() -> None:
    """GGEN-oas-1, with tools of every kind of schema."""
    for one in (
        document([*TOOLS, ANALYZER | {"name": "other"}]),
        document([], base="/profiles/x", anonymous=True),
    ):
        assert list(OpenAPIV30SpecValidator(one).iter_errors()) == []


def test_every_reference_leads_somewhere() -> None:
    """GGEN-oas-2."""
    found = document(TOOLS)
    leading = references(found)
    assert len(leading) > 10
    for reference in leading:
        assert at(found, reference) is not None


def test_each_tool_has_a_path_with_its_own_schema() -> None:
    """GGEN-oas-3."""
    post = document([ANALYZER])["paths"]["/tools/FinancialAnalyzer"]["post"]
    given = post["requestBody"]["content"]["application/json"]["schema"]
    assert given["required"] == ["ticker_symbol", "period_days"]
    assert given["properties"]["ticker_symbol"]["pattern"] == "^[A-Z]{1,5}$"
    assert post["operationId"] == "call_FinancialAnalyzer"
    assert post["description"] == ANALYZER["description"]


def test_names_that_are_odd_have_paths_and_operations_of_their_own() -> None:
    names = ["a/b", "a b", "a_b", "{x}", "é"]
    found = document([{"name": name, "inputSchema": {}} for name in names])
    assert "/tools/a%2Fb" in found["paths"]
    operations = [one["post"]["operationId"] for one in found["paths"].values() if "post" in one]
    assert len(set(operations)) == len(operations) == len(names) + 1
    OpenAPIV30SpecValidator(found).validate()


def test_defaults_and_patterns_that_are_none_do_not_spoil_the_document() -> None:
    """GGEN-oas-1: what servers wrote is not ours to choose."""
    wrong = [
        {"type": "string", "default": None},
        {"type": "array", "items": {"$ref": "#/$defs/N"}, "default": [{}]},
        {"allOf": [{"$ref": "#/$defs/N"}], "default": 7},
        {"$ref": "#/$defs/N", "default": 7},
        {"type": ["integer", "string"], "pattern": "^a", "default": "b"},
        {"type": "string", "pattern": r"^\p{L}+$"},
    ]
    schema = {
        "type": "object",
        "properties": {f"p{number}": one for number, one in enumerate(wrong)},
        "$defs": {"N": {"type": "object", "required": ["v"], "properties": {"v": wrong[0]}}},
    }
    found = document([{"name": "odd", "inputSchema": schema, "outputSchema": schema}])
    assert list(OpenAPIV30SpecValidator(found).iter_errors()) == []


def test_names_that_meet_a_number_or_a_name_of_ours_end_and_stay_apart() -> None:
    """GGEN-oas-1: whatever servers call their tools, each operation has one id, and the document is made."""
    names = ["a_b", "a_b_2", "a_b_3", "a/b", "a b", "tool", "tools"]
    found = document([{"name": name, "inputSchema": {}} for name in names])
    operations = [
        one[method]["operationId"]
        for one in found["paths"].values()
        for method in ("get", "post")
        if method in one
    ]
    assert len(set(operations)) == len(operations) == 2 * len(names) + 3
    OpenAPIV30SpecValidator(found).validate()


def test_who_may_come_without_a_key_is_said() -> None:
    assert document([])["security"] == [{"bearer": []}]
    assert document([], anonymous=True)["security"] == [{}, {"bearer": []}]

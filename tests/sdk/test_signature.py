"""The InputField table of seed 002, word for word."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.sdk import (
    InputField,
    MinLength,
    Not,
    OutputField,
    Pattern,
    RegistrationError,
    Registry,
    SerializationError,
    Signature,
    mcp_tool,
)
from gatewright.sdk.signature import map_type

FINANCIAL = Signature(
    "FinancialAnalyzer",
    "Analyzes stock data and returns investment recommendations",
    inputs=[
        InputField(
            "ticker_symbol",
            "String",
            "Stock ticker symbol (e.g., AAPL)",
            pattern="^[A-Z]{1,5}$",
            min_length=1,
            max_length=5,
        ),
        InputField(
            "period_days",
            "u32",
            "Historical analysis period in days",
            min_value=1,
            max_value=365,
        ),
        InputField(
            "analysis_type",
            "String",
            "Type of analysis",
            enum=["technical", "fundamental", "sentiment"],
            default="technical",
        ),
    ],
)
SEED = {
    "name": "FinancialAnalyzer",
    "description": "Analyzes stock data and returns investment recommendations",
    "inputSchema": {
        "type": "object",
        "properties": {
            "ticker_symbol": {
                "type": "string",
                "description": "Stock ticker symbol (e.g., AAPL)",
                "pattern": "^[A-Z]{1,5}$",
                "minLength": 1,
                "maxLength": 5,
            },
            "period_days": {
                "type": "integer",
                "description": "Historical analysis period in days",
                "minimum": 1,
                "maximum": 365,
            },
            "analysis_type": {
                "type": "string",
                "description": "Type of analysis",
                "enum": ["technical", "fundamental", "sentiment"],
                "default": "technical",
            },
        },
        "required": ["ticker_symbol", "period_days"],
    },
}


def test_the_financial_analyzer_of_the_seed_is_reproduced() -> None:
    """GGEN-sig-1, GGEN-sig-2, GGEN-sig-15: JSON equal, enum and default kept."""
    definition = FINANCIAL.to_mcp_tool()
    assert definition.to_json() == SEED
    assert (definition.name, definition.description) == (SEED["name"], SEED["description"])
    assert definition.input_schema == SEED["inputSchema"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("String", "string"),  # GGEN-sig-3
        ("Integer", "integer"),  # GGEN-sig-4, with the four machine types
        ("i32", "integer"),
        ("i64", "integer"),
        ("u32", "integer"),
        ("u64", "integer"),
        ("Float", "number"),  # GGEN-sig-5
        ("f32", "number"),
        ("f64", "number"),
        ("Boolean", "boolean"),  # GGEN-sig-6
        ("bool", "boolean"),
        ("Vec<String>", "string"),  # GGEN-sig-13: what nobody knows is a string
        ("", "string"),
        (int, "integer"),
        (complex, "string"),
    ],
)
def test_each_type_has_the_json_type_of_the_table(name: str | type, kind: str) -> None:
    """GGEN-sig-3, GGEN-sig-4, GGEN-sig-5, GGEN-sig-6, GGEN-sig-13"""
    assert map_type(name) == kind
    assert InputField("x", name).to_json_schema()["type"] == kind


@pytest.mark.parametrize(
    ("given", "keyword", "value"),
    [
        ({"min_length": 2}, "minLength", 2),  # GGEN-sig-7
        ({"max_length": 3}, "maxLength", 3),  # GGEN-sig-8
        ({"pattern": "^a"}, "pattern", "^a"),  # GGEN-sig-9
        ({"min_value": 0}, "minimum", 0),  # GGEN-sig-10
        ({"max_value": 9.5}, "maximum", 9.5),  # GGEN-sig-11
    ],
)
def test_each_constraint_has_the_keyword_of_the_table(
    given: dict[str, Any], keyword: str, value: Any
) -> None:
    """GGEN-sig-7, GGEN-sig-8, GGEN-sig-9, GGEN-sig-10, GGEN-sig-11: as a member and by name alike."""
    wanted = {"type": "string", "description": "", keyword: value}
    assert InputField("x", **given).to_json_schema() == wanted
    assert InputField("x", constraints=given).to_json_schema() == wanted


def test_unknown_constraints_are_ignored() -> None:
    """GGEN-sig-13"""
    found = InputField("x", constraints={"min_length": 1, "luminous": True}).to_json_schema()
    assert found == {"type": "string", "description": "", "minLength": 1}


def test_required_fields_are_listed_and_others_are_not() -> None:
    """GGEN-sig-12"""
    schema = Signature(
        "t",
        inputs=[
            InputField("a"),
            InputField("b", default=1),
            InputField("c", required=False),
            InputField("d", default=1, required=True),
            InputField("e", default=None),
        ],
    ).to_json_schema()
    assert schema["required"] == ["a", "d"]
    assert schema["properties"]["e"]["default"] is None


def test_the_description_is_copied_to_each_property() -> None:
    """GGEN-sig-14"""
    properties = FINANCIAL.to_json_schema()["properties"]
    assert [one["description"] for one in properties.values()] == [
        one.description for one in FINANCIAL.inputs
    ]


def test_constraint_objects_compose_on_a_field() -> None:
    """GGEN-p4-2"""
    field = InputField(
        "x", pattern="^a", constraints=[MinLength(2), Not(Pattern("z$")), Pattern("b")]
    )
    assert field.to_json_schema() == {
        "type": "string",
        "description": "",
        "pattern": "^a",
        "minLength": 2,
        "not": {"pattern": "z$"},
        "allOf": [{"pattern": "b"}],
    }


def test_outputs_are_checked_against_their_fields() -> None:
    """GGEN-sig-16: a wrong output is an error whose ggen code is -32003."""
    registry = Registry()
    signature = Signature(
        "rate", "Rates.", [InputField("n", "i32")], [OutputField("score", "f64", min_value=0)]
    )

    @mcp_tool(registry=registry, signature=signature)
    def rate(n: int) -> dict[str, Any]:
        return {"score": n}

    assert registry.get("rate").output_schema == signature.output_schema()
    assert registry.invoke_sync("rate", {"n": 1}).structured == {"score": 1}
    with pytest.raises(
        SerializationError, match="/score: value is less than the minimum"
    ) as caught:
        registry.invoke_sync("rate", {"n": -1})
    assert caught.value.reason == "output_invalid"
    assert Signature("t").output_schema() is None


def test_a_function_that_does_not_fit_its_signature_is_refused() -> None:
    with pytest.raises(RegistrationError, match=r"has 'n', which .*rate.* does not take"):

        @mcp_tool(registry=Registry(), signature=Signature("rate", inputs=[InputField("n")]))
        def rate(m: int) -> int:
            return m

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from gatewright.schemas.schema import compile_schema
from gatewright.sdk import Signature, tool_from_function
from gatewright.sdk.export import catalogue, tags_of, tool_document
from gatewright.sdk.export.catalogue import definition_of
from tests.sdk.test_signature import FINANCIAL, SEED

NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=1)))


def analyze(ticker_symbol: str, period_days: int, analysis_type: str = "technical") -> str:
    return ticker_symbol


ANALYZER = tool_from_function(
    analyze, signature=FINANCIAL, category="finance", author="ggen-ai", deprecated_in="1.1.0"
)
# The form of the document, from the seed's code.
FORM: dict[str, Any] = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "inputSchema": {
                        "type": "object",
                        "required": ["type", "properties", "required"],
                    },
                    "tags": {"type": "array", "items": {"type": "string"}},
                },
                "required": ["name", "description", "inputSchema", "tags"],
                "additionalProperties": False,
            },
        },
        "version": {"const": "1.0.0"},
        "generated_at": {"type": "string"},
    },
    "required": ["tools", "version", "generated_at"],
    "additionalProperties": False,
}


def test_the_catalogue_has_the_form_of_the_seed() -> None:
    """GGEN-exp-1"""
    found = catalogue([ANALYZER, SEED], now=NOW)
    assert compile_schema(FORM).objection(found) is None
    assert found["tools"][0]["inputSchema"] == SEED["inputSchema"]
    assert found["tools"][1]["description"] == SEED["description"]
    assert found["generated_at"] == "2026-01-02T02:04:05+00:00"
    assert dt.datetime.fromisoformat(found["generated_at"]) == NOW


@pytest.mark.parametrize(
    ("name", "category", "tags", "wanted"),
    [
        ("FinancialAnalyzer", "", [], ["financial", "analysis"]),
        ("FinancialAnalyzer", "finance", [], ["financial", "analysis"]),
        ("get_weather", "", [], ["weather"]),
        ("HTTPProbe", "network", [], ["network", "http", "probe"]),
        ("FinancialAnalyzer", "", ["own"], ["own"]),
    ],
)
def test_tags_come_from_the_domain_of_the_tool(
    name: str, category: str, tags: list[str], wanted: list[str]
) -> None:
    """GGEN-exp-2"""
    tool = tool_from_function(
        analyze, signature=Signature(name, inputs=FINANCIAL.inputs), category=category, tags=tags
    )
    assert tags_of(tool) == wanted


def test_one_tool_is_exported_with_schema_examples_and_metadata() -> None:
    """GGEN-exp-3"""
    found = tool_document(ANALYZER)
    assert sorted(found) == ["examples", "metadata", "schema"]
    assert found["schema"] == SEED["inputSchema"]
    assert found["metadata"] == {
        "category": "finance",
        "version": "1.0.0",
        "deprecated": True,
        "author": "ggen-ai",
    }
    assert len(found["examples"]) == 2


def test_the_examples_of_the_author_go_first() -> None:
    """GGEN-exp-3"""
    example = {"ticker_symbol": "AAPL", "period_days": 90}
    tool = tool_from_function(analyze, signature=FINANCIAL, examples=[example])
    assert tool_document(tool)["examples"] == [example]


def test_a_definition_from_a_gateway_can_be_exported_too() -> None:
    found = tool_document(SEED)
    assert found["metadata"] == {
        "category": "",
        "version": "1.0.0",
        "deprecated": False,
        "author": "",
    }
    assert tags_of(SEED) == ["financial", "analysis"]
    assert definition_of(SEED) is SEED

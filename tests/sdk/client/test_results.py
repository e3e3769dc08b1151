"""Results: typed to read, raw for everything else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

from gatewright.sdk.client.results import Progress, ResourceInfo, ToolInfo, ToolResult
from gatewright.sdk.errors import SerializationError

RESULT: dict[str, Any] = {
    "content": [{"type": "text", "text": '{"a": 1}'}, {"type": "new kind", "x": [1]}, 7],
    "isError": False,
    "structuredContent": {"a": 1},
    "com.example/later": {"kept": True},
    "_meta": {"k": "v"},
}


@dataclass
class Point:
    a: int


class Model(BaseModel):
    a: int


def test_members_nobody_knows_are_kept() -> None:
    result = ToolResult(RESULT)
    assert result.raw == RESULT
    assert result.meta == {"k": "v"}
    assert [one["type"] for one in result.content] == ["text", "new kind"]


@pytest.mark.parametrize("kind", [Point, Model])
def test_a_result_is_read_as_the_type_that_is_asked_for(kind: Any) -> None:
    assert ToolResult(RESULT).as_type(kind).a == 1


def test_a_result_that_does_not_fit_the_type_says_where() -> None:
    with pytest.raises(SerializationError, match=r"Point.*a"):
        ToolResult({"structuredContent": {"a": "x"}}).as_type(Point)


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ({"structuredContent": {"result": [1, 2]}}, [1, 2]),
        ({"structuredContent": {"result": 1, "more": 2}}, {"result": 1, "more": 2}),
        ({"content": [{"type": "text", "text": "12"}]}, 12),
        ({"content": [{"type": "text", "text": "plain words"}]}, "plain words"),
        ({}, ""),
    ],
)
def test_the_value_is_what_the_function_returned_as_far_as_can_be_told(
    raw: dict[str, Any], value: Any
) -> None:
    assert ToolResult(raw).value == value


def test_security_is_read_from_its_place_and_from_its_mirror() -> None:
    """C-50, MGP-4.1-1 for clients."""
    said = {"risk_level": "dangerous"}
    assert ToolInfo({"name": "t", "security": said}).security == said
    mirrored = {"name": "t", "_meta": {"dev.cloto/security": said}}
    assert ToolInfo(mirrored).security == said
    assert ToolInfo({"name": "t"}).security == {}


def test_a_tool_is_repeatable_by_its_own_word_alone() -> None:
    assert ToolInfo({"annotations": {"readOnlyHint": True}}).repeatable
    assert ToolInfo({"annotations": {"idempotentHint": True}}).repeatable
    assert not ToolInfo({"annotations": {"idempotentHint": "yes"}}).repeatable
    assert not ToolInfo({}).repeatable


def test_what_is_of_a_wrong_type_reads_as_if_it_were_not_there() -> None:
    odd = ToolInfo({"name": 7, "inputSchema": [], "annotations": None, "outputSchema": 1})
    assert (odd.name, odd.input_schema, odd.annotations, odd.output_schema) == ("", {}, {}, None)
    progress = Progress({"progress": "half", "total": None})
    assert (progress.progress, progress.total, progress.message) == (0.0, None, "")
    assert ResourceInfo({"uriTemplate": "a://{b}"}).uri == "a://{b}"

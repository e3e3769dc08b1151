"""Schemas of an OpenAPI document as input schemas of tools."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.servers.openapi.from_openapi import Definitions, Foreign, Room, at, resolved
from gatewright.servers.openapi.text import BadDocument

DOCUMENT = {"a": {"b/c": [{"x": 1}]}, "r": {"$ref": "#/a"}, "loop": {"$ref": "#/loop"}}


def of(schema: Any, document: Any = None, *, old: bool = True) -> Any:
    return Definitions(document or {}, old=old).of(schema)


def test_a_reference_leads_into_the_document() -> None:
    assert at(DOCUMENT, "#/a/b~1c/0/x") == 1
    assert at(DOCUMENT, "#") is DOCUMENT
    assert resolved(DOCUMENT, {"$ref": "#/r"}) == DOCUMENT["a"]


@pytest.mark.parametrize("pointer", ["other.json#/a", "http://x/y", "#/nowhere", "#/a/b~1c/7", "x"])
def test_a_reference_out_of_it_is_not_followed(pointer: str) -> None:
    with pytest.raises(Foreign):
        at(DOCUMENT, pointer)


def test_a_circle_of_references_ends() -> None:
    with pytest.raises(Foreign, match="circle"):
        resolved(DOCUMENT, {"$ref": "#/loop"})
    with pytest.raises(Foreign):
        resolved(DOCUMENT, 7)


@pytest.mark.parametrize(
    ("schema", "modern"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"exclusiveMaximum": 3}, {"exclusiveMaximum": 3}),
        ({"example": 1}, {"examples": [1]}),
        ({"x-own": 1, "xml": {}, "discriminator": {}}, {}),
        (
            {"externalDocs": {"url": "https://x", "description": "d"}},
            {"externalDocs": {"url": "https://x"}},
        ),
        (
            {"allOf": [{"nullable": True, "type": "integer"}]},
            {"allOf": [{"type": ["integer", "null"]}]},
        ),
        ({"properties": {"a": {"example": 1}}}, {"properties": {"a": {"examples": [1]}}}),
        ({"items": {"x-y": 1}, "not": {"x-y": 1}}, {"items": {}, "not": {}}),
        (True, True),
        (None, {}),
    ],
)
def test_the_old_dialect_is_rewritten(schema: Any, modern: Any) -> None:
    assert of(schema) == modern


def test_the_new_dialect_stays_as_it_is() -> None:
    schema = {"type": ["string", "null"], "examples": [1], "exclusiveMinimum": 1}
    assert of(schema, old=False) == schema


def test_what_is_referred_to_is_brought_along_once() -> None:
    document = {
        "components": {
            "schemas": {
                "Pet": {"properties": {"parent": {"$ref": "#/components/schemas/Pet"}}},
                "Pet 2": {"type": "string"},
            }
        },
        "other": {"Pet": {"type": "integer"}},
    }
    definitions = Definitions(document, old=True)
    made = definitions.of(
        {
            "properties": {
                "a": {"$ref": "#/components/schemas/Pet", "description": "ignored in 3.0"},
                "b": {"$ref": "#/components/schemas/Pet%202"},
                "c": {"$ref": "#/other/Pet"},
            }
        }
    )
    assert made["properties"] == {
        "a": {"$ref": "#/$defs/Pet"},
        "b": {"$ref": "#/$defs/Pet_202"},
        "c": {"$ref": "#/$defs/Pet_2"},
    }
    assert definitions.found == {
        "Pet": {"properties": {"parent": {"$ref": "#/$defs/Pet"}}},
        "Pet_202": {"type": "string"},
        "Pet_2": {"type": "integer"},
    }


def test_what_is_read_only_need_not_be_sent() -> None:
    """OpenAPI 3.0.4, "Schema Object": there `required` is about the response only."""
    document = {"ids": {"type": "integer", "readOnly": True}}
    schema = {
        "properties": {
            "id": {"$ref": "#/ids"},
            "made": {"type": "string", "readOnly": True},
            "name": {"type": "string"},
        },
        "required": ["id", "made", "name"],
    }
    for old in (True, False):
        assert of(schema, document, old=old)["required"] == ["name"]
        found = of({**schema, "required": ["id", "nowhere"]}, document, old=old)
        assert found["required"] == ["nowhere"]
        assert "required" not in of({**schema, "required": ["made"]}, document, old=old)


def test_there_is_an_end_to_what_one_operation_and_one_document_refer_to() -> None:
    many: dict[str, Any] = {"properties": {f"p{n}": {} for n in range(6_000)}}
    document = {"many": many}
    room = Room(left=13_000)
    for _ in range(2):
        Definitions(document, old=True, room=room).of({"$ref": "#/many"})
    with pytest.raises(BadDocument, match="more schemas than there is room for"):
        Definitions(document, old=True, room=room).of({"$ref": "#/many"})
    with pytest.raises(BadDocument, match="more schemas"):
        Definitions(document, old=True).of({"allOf": [many, many]})


@pytest.mark.parametrize(
    "wide",
    [{f"k{n}": 1 for n in range(500)}, {"properties": {"a": {}}, "required": ["a"] * 500}],
)
def test_there_is_an_end_to_the_members_that_one_document_copies(wide: dict[str, Any]) -> None:
    """Few schemas may have many of them, and each operation that refers to one has its own."""
    document, room = {"wide": wide}, Room(members=1_200)
    for _ in range(2):
        Definitions(document, old=True, room=room).of({"$ref": "#/wide"})
    with pytest.raises(BadDocument, match="there is room for"):
        Definitions(document, old=True, room=room).of({"$ref": "#/wide"})

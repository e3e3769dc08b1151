"""Reading a schema as a graph, within bounds."""

from typing import Any

import pytest

from gatewright.schemas.graph import Graph, UnusableSchema


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels - 1):
        schema = {"properties": {"a": schema}}
    return schema


def test_a_schema_of_as_many_levels_as_are_allowed_is_read() -> None:
    Graph(_nested(4), depth=4)
    with pytest.raises(UnusableSchema, match="deeper than 4 levels"):
        Graph(_nested(6), depth=4)


def test_a_schema_of_as_many_parts_as_are_allowed_is_read() -> None:
    schema = {"properties": {f"p{n}": {"type": "string"} for n in range(9)}}
    Graph(schema, subschemas=10)
    with pytest.raises(UnusableSchema, match="more than 9 subschemas"):
        Graph(schema, subschemas=9)


def test_a_property_that_is_called_like_a_keyword_is_a_property() -> None:
    schema = {"properties": {"$ref": {"type": "string"}, "properties": {"type": "object"}}}
    named, listed = Graph(schema).one_of_below(schema)
    assert [list(named), list(listed)] == [[{"type": "string"}, {"type": "object"}], []]


@pytest.mark.parametrize(
    "patterns",
    [
        {"properties": {f"p{n}": {"pattern": f"^a{n}$"} for n in range(201)}},
        {"patternProperties": {f"^a{n}$": {} for n in range(201)}},
        {"pattern": "a" * 16_385},
    ],
)
def test_patterns_are_bounded_in_number_and_length(patterns: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema, match="patterns"):
        Graph(patterns)


@pytest.mark.parametrize(
    ("schema", "reference", "target"),
    [
        ({"$defs": {"a": {"type": "string"}}}, "#/$defs/a", {"type": "string"}),
        ({"$defs": {"a/b": {"type": "null"}}}, "#/$defs/a~1b", {"type": "null"}),
        ({"$defs": {"a b": {"type": "null"}}}, "#/$defs/a%20b", {"type": "null"}),
        ({"allOf": [{}, {"type": "null"}]}, "#/allOf/1", {"type": "null"}),
        ({"$defs": {"a": {"$anchor": "here"}}}, "#here", {"$anchor": "here"}),
        ({"$id": "https://x.example/s", "$defs": {"a": {"$id": "t"}}}, "t", {"$id": "t"}),
        (
            {"$id": "https://x.example/s", "$defs": {"a": {"$id": "t"}}},
            "https://x.example/t#",
            {"$id": "t"},
        ),
        ({"$defs": {"a": {"$dynamicAnchor": "here"}}}, "#here", {"$dynamicAnchor": "here"}),
    ],
)
def test_references_lead_to_what_they_name(
    schema: dict[str, Any], reference: str, target: dict[str, Any]
) -> None:
    node = {"$ref": reference}
    schema["not"] = node
    assert list(Graph(schema).same_place(node)) == [target]


@pytest.mark.parametrize("name", ["part", "https://x.example/part", "urn:x:part"])
def test_a_reference_inside_a_named_part_is_relative_to_that_part(name: str) -> None:
    node = {"$ref": "#/$defs/inner"}
    part = {"$id": name, "not": node, "$defs": {"inner": {"type": "null"}}}
    assert list(Graph({"$defs": {"p": part}}).same_place(node)) == [{"type": "null"}]


@pytest.mark.parametrize(
    "reference",
    [
        "#/$defs/none",
        "#/prefixItems/1",
        "#/prefixItems/x",
        "#/title/0",
        "#none",
        "file:///etc/passwd",
        "http://x.example/s",
        "other",
    ],
)
def test_a_reference_to_what_is_not_there_makes_the_schema_unusable(reference: str) -> None:
    schema = {"$ref": reference, "prefixItems": [{}], "title": "x"}
    with pytest.raises(UnusableSchema, match="which it does not define; nothing is fetched"):
        list(Graph(schema).same_place(schema))


def test_a_dynamic_reference_leads_to_every_place_of_that_name() -> None:
    node = {"$dynamicRef": "#n"}
    first, second = {"$dynamicAnchor": "n", "$id": "a"}, {"$dynamicAnchor": "n", "$id": "b"}
    schema = {"$dynamicAnchor": "n", "$defs": {"a": first, "b": second}, "not": node}
    found = list(Graph(schema).same_place(node))
    assert all(one in found for one in (schema, first, second))


def test_a_recursive_reference_leads_to_the_root() -> None:
    node = {"$recursiveRef": "#"}
    schema = {"items": node}
    assert schema in list(Graph(schema).same_place(node))


def test_what_is_no_uri_makes_the_schema_unusable() -> None:
    with pytest.raises(UnusableSchema, match="where a URI should be"):
        Graph({"$id": "https://x.example/", "properties": {"a": {"$id": "//[bad"}}})


def test_as_many_patterns_as_are_allowed_are_read() -> None:
    assert Graph({"patternProperties": {f"^a{n}$": {} for n in range(200)}}).patterns == 200
    assert Graph({"pattern": "a" * 16_384}).patterns == 1


def test_a_schema_may_have_ten_members_for_each_part_that_it_may_have() -> None:
    def wide(members: int) -> dict[str, Any]:
        return {f"x-{number}": number for number in range(members)}

    assert Graph(wide(20), subschemas=2).patterns == 0
    with pytest.raises(UnusableSchema, match="more than 2 subschemas"):
        Graph(wide(21), subschemas=2)


@pytest.mark.parametrize(
    "schema", [{"$ref": "a" * 3000}, {"$id": "b" * 3000}, {"$ref": "#/" + "c/" * 2000}]
)
def test_a_uri_that_is_longer_than_any_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema, match="a URI of more than 2048 characters"):
        list(Graph(schema).same_place(schema))


def test_each_reference_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_up: list[str] = []
    resolve = Graph._resolve

    def noted(self: Graph, said: str) -> Any:
        looked_up.append(said)
        return resolve(self, said)

    monkeypatch.setattr(Graph, "_resolve", noted)
    node = {"$ref": "#/$defs/a"}
    graph = Graph({"$defs": {"a": {}}, "items": node, "contains": {"$ref": "#/$defs/a"}})
    for _ in range(50):
        assert [*graph.same_place(node)] == [{}]
    assert looked_up == ["#/$defs/a"]

"""Bounding the work of a schema check before it is done."""

from typing import Any

import pytest

from gatewright.schemas.cost import BUDGET, VALUE_DEPTH, Cost, affordable, cost_of
from gatewright.schemas.graph import Graph, UnusableSchema


def _chain(links: int, keyword: str = "anyOf") -> dict[str, Any]:
    """A schema whose checks double with every link."""
    defs: dict[str, Any] = {
        f"d{n}": {keyword: [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(links)
    }
    return {"$ref": "#/$defs/d0", "$defs": {**defs, f"d{links}": {"type": "integer"}}}


def _deep(levels: int) -> Any:
    value: Any = 5
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_flat_schema_costs_one_for_each_schema_on_the_worst_path() -> None:
    schema = {"properties": {"a": {"anyOf": [{}, {}]}, "b": {}}, "required": ["a"]}
    found = cost_of(schema)
    assert (found.weight, found.bounded, found.cheap) == ([1, 4, 4], True, True)


def test_of_several_properties_only_the_heaviest_counts() -> None:
    many = {"properties": {f"p{n}": {"type": "string"} for n in range(500)}}
    assert cost_of(many).weight[-1] == 2


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_references_that_multiply_make_a_schema_unusable(keyword: str) -> None:
    assert cost_of(_chain(10, keyword)).bounded
    with pytest.raises(UnusableSchema, match="references multiply"):
        cost_of(_chain(60, keyword))


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"anyOf": [{"type": "null"}, {"$ref": "#"}]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}},
        {"properties": {"x": {"not": {"$ref": "#/properties/x"}}}},
    ],
)
def test_a_schema_that_refers_to_itself_in_place_is_unusable(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchema, match="refers to itself without end"):
        cost_of(schema)


def test_a_tree_is_affordable_at_every_depth_that_a_door_lets_in() -> None:
    tree = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "a": {"$ref": "#"}}}
    cost = cost_of(tree)
    assert not cost.bounded
    assert affordable(cost, _deep(64))


def test_a_recursion_that_doubles_is_affordable_only_as_far_as_the_budget_goes() -> None:
    cost = cost_of({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}})
    assert affordable(cost, _deep(8))
    assert not affordable(cost, _deep(40))
    assert not affordable(cost, _deep(1000))


def test_a_heavy_schema_is_affordable_for_values_of_few_places() -> None:
    cost = cost_of({"items": {"allOf": [{"type": "integer"}] * 900}})
    assert not cost.cheap
    assert affordable(cost, [1] * 100)
    assert not affordable(cost, [1] * (BUDGET // 900))


def test_a_long_chain_of_references_does_not_exhaust_the_stack() -> None:
    defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(900)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**defs, "d900": {"type": "integer"}}}
    assert cost_of(schema).weight[-1] == 902


def test_a_cheap_schema_is_affordable_for_anything_and_a_bounded_one_at_any_depth() -> None:
    assert affordable(cost_of({"type": "object"}), [0] * 500_000)
    wide = cost_of({"allOf": [{"type": "object"}] * 50})
    assert (wide.bounded, wide.cheap) == (True, False)
    assert affordable(wide, _deep(1000))


def test_a_tree_is_not_checked_deeper_than_it_was_weighed() -> None:
    assert not affordable(cost_of({"properties": {"a": {"$ref": "#"}}}), _deep(200))


def test_the_deepest_value_that_was_weighed_is_affordable() -> None:
    cost = cost_of({"properties": {"a": {"$ref": "#"}}})
    assert affordable(cost, _deep(VALUE_DEPTH - 1))
    assert not affordable(cost, _deep(VALUE_DEPTH))
    assert VALUE_DEPTH == 2 * 64


def test_the_budget_itself_can_be_spent() -> None:
    graph = Graph({})
    cost = Cost([1000, 1000], bounded=True, graph=graph)
    assert affordable(cost, [0] * (BUDGET // 1000 - 1))
    assert not affordable(cost, [0] * (BUDGET // 1000))
    assert Cost([16], bounded=True, graph=graph).cheap
    assert not Cost([17], bounded=True, graph=graph).cheap
    assert not Cost([16], bounded=False, graph=graph).cheap


def test_divisions_are_counted_for_what_they_take() -> None:
    cost = cost_of({"properties": {"list": {"items": {"multipleOf": 0.01}}}})
    assert affordable(cost, {"list": [1e308] * 3000})
    assert not affordable(cost, {"list": [1e308] * 5000})

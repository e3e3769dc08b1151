"""Bounding the work of a schema check before it is done."""

from typing import Any

import pytest

from gatewright.schemas.cost import _MOST, VALUE_DEPTH, Cost, Load, Weights, cost_of
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


def _work(cost: Cost, value: Any) -> int:
    load = cost.load(value)
    assert load is not None
    return load.work


def _weights(schema: dict[str, Any]) -> Weights:
    return Weights(Graph(schema), 5000)


def test_a_flat_schema_costs_one_for_each_schema_on_the_worst_path() -> None:
    schema = {"properties": {"a": {"anyOf": [{}, {}]}, "b": {}}, "required": ["a"]}
    assert [one.work for one in _weights(schema).found] == [1, 4, 4]
    assert cost_of(schema).cheap


def test_of_several_properties_only_the_heaviest_counts() -> None:
    last = _weights({"properties": {f"p{n}": {"type": "string"} for n in range(7)}}).last
    assert last is not None
    assert last.work == 2


@pytest.mark.parametrize("keyword", ["anyOf", "allOf", "oneOf"])
def test_references_that_multiply_make_a_schema_unusable(keyword: str) -> None:
    assert cost_of(_chain(10, keyword)).load(1) is not None
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
    assert not cost.cheap
    assert _work(cost, _deep(64)) < _MOST


def test_a_recursion_that_doubles_is_affordable_only_as_far_as_the_budget_goes() -> None:
    cost = cost_of({"properties": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}})
    assert _work(cost, _deep(8)) < _MOST
    assert cost.load(_deep(40)) is None
    assert cost.load(_deep(1000)) is None


def test_the_work_is_the_heaviest_path_for_each_value() -> None:
    cost = cost_of({"items": {"allOf": [{"type": "integer"}] * 900}})
    assert not cost.cheap
    assert _work(cost, [1] * 100) == 101 * 902


def test_a_long_chain_of_references_does_not_exhaust_the_stack() -> None:
    defs: dict[str, Any] = {f"d{n}": {"$ref": f"#/$defs/d{n + 1}"} for n in range(900)}
    schema = {"$ref": "#/$defs/d0", "$defs": {**defs, "d900": {"type": "integer"}}}
    assert _work(cost_of(schema), 1) == 902


def test_a_cheap_schema_is_not_measured_and_a_bounded_one_has_a_cost_at_any_depth() -> None:
    assert cost_of({"type": "object"}).cheap
    wide = cost_of({"allOf": [{"type": "object"}] * 50})
    assert not wide.cheap
    assert _work(wide, _deep(1000)) == 1001 * 51


def test_a_tree_is_not_checked_deeper_than_it_was_weighed() -> None:
    cost = cost_of({"properties": {"a": {"$ref": "#"}}})
    assert cost.load(_deep(VALUE_DEPTH - 1)) is not None
    assert cost.load(_deep(VALUE_DEPTH)) is None
    assert VALUE_DEPTH == 2 * 64


def test_levels_are_weighed_when_a_value_is_as_deep() -> None:
    weights = _weights({"properties": {"a": {"$ref": "#"}}})
    made = len(weights.found)
    assert made < VALUE_DEPTH
    assert weights.at(made + 3) is not None
    assert len(weights.found) == made + 4


def test_a_dynamic_reference_is_followed_once_to_each_place() -> None:
    cost = cost_of({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}})
    value: Any = 1
    for _ in range(40):
        value = [value]
    assert _work(cost, value) < 10_000


def test_a_schema_with_more_references_than_are_followed_is_unusable() -> None:
    anchors = {f"a{n}": {"$dynamicAnchor": "x"} for n in range(480)}
    schema = {
        "items": {"$ref": "#"},
        "$defs": anchors,
        "allOf": [{"$dynamicRef": "#x"} for _ in range(480)],
    }
    with pytest.raises(UnusableSchema, match="refers to its own parts in more than 5,000 places"):
        cost_of(schema)


@pytest.mark.parametrize("keyword", ["unevaluatedProperties", "unevaluatedItems"])
@pytest.mark.parametrize("inside", ["allOf", "anyOf", "oneOf"])
def test_what_is_unevaluated_is_found_out_by_judging_the_parts_once_more(
    keyword: str, inside: str
) -> None:
    def nested(levels: int) -> dict[str, Any]:
        schema: dict[str, Any] = {"properties": {"a": {}}}
        for _ in range(levels):
            schema = {inside: [schema], keyword: {"type": "integer"}}
        return schema

    assert _work(cost_of(nested(3)), {"a": 1}) < 1000
    assert _work(cost_of(nested(10)), {"a": 1}) > 2.6**10
    with pytest.raises(UnusableSchema, match="multiply"):
        cost_of(nested(25))


def test_what_is_gone_through_again_and_again_is_no_work_for_the_event_loop() -> None:
    """One that does not fit is gone through three times. What texts may cost at worst hardly any do."""
    assert not Load(work=1_100_000, text=900_000, errors=0).takes_long
    assert Load(work=1_100_001, text=0, errors=0).takes_long
    assert Load(work=0, text=2_000_001, errors=0).takes_long

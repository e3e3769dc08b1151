"""Arguments one of whose members reads as another."""

from typing import Any

import pytest

from gatewright.mcp.wire.spellings import fold
from gatewright.schemas import member_names
from gatewright.schemas.graph import Graph
from gatewright.schemas.member_names import PointedNames, SchemaNames, misread_among
from gatewright.schemas.schema import compile_schema

NESTED: dict[str, Any] = {
    "properties": {
        "path": {"type": "string"},
        "deep": {"$ref": "#/$defs/node"},
        "either": {"anyOf": [{"properties": {"one": True}}, {"properties": {"two": {}}}]},
        "list": {"items": {"properties": {"key": {}}}},
        "pair": {"prefixItems": [{"properties": {"first": {}}}]},
        "table": {"additionalProperties": {"properties": {"cell": {}}}},
        "words": {"type": "object"},
    },
    "$defs": {"node": {"properties": {"name": {}, "next": {"$ref": "#/$defs/node"}}}},
}


def noting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names that are folded from now on."""
    folded: list[str] = []

    def noted(name: str) -> str:
        folded.append(name)
        return fold(name)

    monkeypatch.setattr(member_names, "fold", noted)
    return folded


def of(value: Any, schema: dict[str, Any] = NESTED) -> str | None:
    found = SchemaNames(Graph(schema)).objection(value)
    return None if found is None else f"{found.path}: {found.message}"


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"Path": 1}, ""),
        ({"path": 1, "PATH": 2}, ""),
        ({"x": 1, "X": 2}, ""),
        ({"deep": {"next": {"next": {"Name": 1}}}}, "/deep/next/next"),
        ({"either": {"Two": 1}}, "/either"),
        ({"list": [{}, {"key": 1, "K_ey": 2}]}, "/list/1"),
        ({"pair": [{"First": 1}]}, "/pair/0"),
        ({"table": {"a/b": {"CELL": 1}}}, "/table/a~1b"),
    ],
)
def test_a_member_that_reads_as_a_property_is_found_wherever_the_schema_leads(
    value: Any, where: str
) -> None:
    found = of(value)
    assert found is not None
    assert found.startswith(f"{where}: has ")


@pytest.mark.parametrize(
    "value",
    [
        {"path": 1, "paths": 2, "deep": {"name": 1, "next": {}}},
        {"words": {"path": 1, "Path": 2}},
        {"table": {"cell": {}, "Cell": {}}},
        {"other": {"Path": 1, "path": 2}},
        {"1": 1, "-1": 2, "_": 3, "-": 4},
        [1],
        "x",
    ],
)
def test_what_is_no_second_spelling_passes(value: Any) -> None:
    assert of(value) is None


def test_names_of_a_table_are_data_except_beside_its_properties() -> None:
    table = {"properties": {"own": {}}, "additionalProperties": {"type": "string"}}
    assert of({"a": "x", "A": "y"}, table) is None
    assert of({"Own": "x"}, table) is not None


def test_a_property_by_another_name_is_a_property() -> None:
    schema: dict[str, Any] = {"properties": {"path": {}, "Path": {}}}
    assert of({"path": 1, "Path": 2}, schema) is None
    assert of({"PATH": 2}, schema) is not None


def test_plain_arguments_are_not_walked() -> None:
    assert SchemaNames(Graph(NESTED)).plain == {"path", "words"}


def test_the_objection_and_the_flaw_are_told() -> None:
    compiled = compile_schema(NESTED)
    objection = compiled.objection({"list": [{"KEY": 1}]})
    assert objection is not None
    assert objection.rule == "names"
    assert [one.path for one in compiled.violations({"list": [{"KEY": 1}]}, 9)] == [("list", 0)]
    assert compile_schema(True).objection({"a": 1, "A": 2}) is None


def test_of_pointers_each_step_has_one_spelling() -> None:
    names = PointedNames([("a", "b"), ("c",), ("list", "0", "d")])
    assert names.plain == {"c"}
    assert names.objection({"a": {"b": 1}, "c": 2, "list": [{"d": 1}], "other": 3}) is None
    for value in ({"A": 1}, {"C": 1}, {"a": {"B": 1}}, {"list": [{"D": 1}]}, {"a": {}, "LIST": 1}):
        assert names.objection(value) is not None, value
    assert names.objection([1]) is None
    assert names.objection(dict.fromkeys(map(str, range(20_000)))) is not None


def test_what_would_take_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(member_names, "_LOOKED_AT", 100)
    assert of({"list": [{"key": 1}] * 40}) is None
    assert "more members than are compared" in (of({"list": [{"key": 1}] * 60}) or "")


def test_among_unknown_names_only_where_that_is_asked_and_the_first_that_was_there() -> None:
    assert misread_among(["b", "a", "A"], frozenset(), {}) == "has 'A', which reads as 'a'"
    assert misread_among(["b", "a", "A"], frozenset(), {}, among=False) == ""


def test_the_names_of_a_place_are_folded_once_however_many_objects_have_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folded = noting(monkeypatch)
    schema: dict[str, Any] = {
        "properties": {"rows": {"items": {"properties": {f"p{n}": {} for n in range(300)}}}}
    }
    assert of({"rows": [{"x": 1}] * 500}, schema) is None
    assert len(folded) <= 300 + 500


def test_places_that_many_parts_judge_are_found_out_once_or_refused() -> None:
    parts: list[Any] = [{"properties": {f"p{one}": {}}} for one in range(400)]
    names = SchemaNames(Graph({"properties": {"list": {"prefixItems": parts}}}))
    assert names.objection({"list": [{"p1": 1}] * 2000}) is None
    variants = [{"properties": {f"k{one}": {"anyOf": parts[: 100 + one]}}} for one in range(120)]
    many = SchemaNames(Graph({"properties": {"list": {"items": {"anyOf": variants}}}}, 32, 10**6))
    found = many.objection({"list": [{f"k{one}": {"x": 1} for one in range(120)}]})
    assert found is not None
    assert found.message == "has more members than are compared with the names that the tool knows"


def test_what_is_remembered_of_the_places_of_a_schema_is_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(member_names, "_KEPT", 40)
    schema: dict[str, Any] = {
        "properties": {
            f"p{one}": {"properties": {"q": {"properties": {"r": {}}}}} for one in range(99)
        }
    }
    names = SchemaNames(Graph(schema))
    value = {f"p{one}": {"q": {"R": 1} if one == 98 else {}} for one in range(99)}
    found = names.objection(value)
    assert found is not None
    assert found.path == "/p98/q"
    assert len(names._known) <= 41


@pytest.mark.parametrize("unit", ["\uff41" * 240, "\ufb03" * 240])
def test_names_that_take_long_to_fold_are_refused(unit: str) -> None:
    found = of({f"{unit}{one}": 1 for one in range(900)})
    assert found is not None
    assert "more members than are compared" in found


def test_of_many_pointers_each_member_is_folded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = PointedNames([("a", f"s{one}") for one in range(500)])
    folded = noting(monkeypatch)
    assert names.objection({"a": {f"x{one}": 1 for one in range(900)}}) is None
    assert len(folded) <= 901
    assert PointedNames([("a", "b"), ("a", "B")]).objection({"a": {"b": 1, "B": 2}}) is None


def test_a_step_that_is_a_long_number_leads_nowhere() -> None:
    names = PointedNames([("list", "9" * 5000)])
    assert names.objection({"list": [{"a": 1}]}) is None

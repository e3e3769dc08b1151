"""One digest for one meaning, another for any other."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.servers.definition_digest import canonical, definition_digest

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def _digest(text: str) -> str:
    return definition_digest(jsonrpc.decode_members(text.encode()))


@pytest.mark.parametrize(
    "same",
    [
        ('{"name":"a","n":1}', '{ "n" : 1 , "name" : "a" }'),
        ('{"name":"A"}', '{"name":"\\u0041"}'),
        ('{"n":1.10}', '{"n":1.1}'),
        ('{"n":1.0}', '{"n":1}'),
        ('{"n":100}', '{"n":1e2}'),
        ('{"n":0.0}', '{"n":-0}'),
        ('{"n":12e-1}', '{"n":1.2}'),
        ('{"s":{"b":[1,{"d":2,"c":3}],"a":0}}', '{"s":{"a":0,"b":[1.0,{"c":3,"d":2}]}}'),
    ],
)
def test_another_notation_is_the_same_definition(same: tuple[str, str]) -> None:
    assert _digest(same[0]) == _digest(same[1])


@pytest.mark.parametrize(
    "changed",
    [
        '{"name":"a","description":"reads"}',
        '{"name":"a","description":"Reads."}',
        '{"name":"a","description":"reads.","x":null}',
        '{"name":"a","description":"reads.\\u200b"}',
        '{"name":"a","description":["reads."]}',
        '{"Name":"a","description":"reads."}',
    ],
)
def test_any_other_change_is_another_definition(changed: str) -> None:
    assert _digest(changed) != _digest('{"name":"a","description":"reads."}')


TOOL = {
    "name": "read",
    "title": "Read",
    "description": "Reads.",
    "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
    "outputSchema": {"type": "object"},
    "annotations": {"title": "Read", "readOnlyHint": True},
    "icons": [{"src": "https://host.example/a.png"}],
    "execution": {"taskSupport": "optional"},
    "_meta": {"org.example/scope": "read"},
    "x-unknown": 1,
}


@pytest.mark.parametrize("member", TOOL)
def test_no_member_of_a_tool_can_change_unnoticed(member: str) -> None:
    """Fault test 26: in every field, also in what hosts never show, by another value or by leaving."""
    whole = _digest(json.dumps(TOOL))
    inner = TOOL[member]
    other = {**inner, "more": 1} if isinstance(inner, dict) else [inner]
    assert _digest(json.dumps({**TOOL, member: other})) != whole
    assert _digest(json.dumps({k: v for k, v in TOOL.items() if k != member})) != whole


@pytest.mark.parametrize(
    "pair", [("9007199254740993", "9007199254740992"), ("0.1", "0.10000000000000000001")]
)
def test_numbers_that_a_float_cannot_tell_apart_are_told_apart(pair: tuple[str, str]) -> None:
    assert _digest(f'{{"n":{pair[0]}}}') != _digest(f'{{"n":{pair[1]}}}')


def test_a_huge_exponent_costs_nothing() -> None:
    assert len(canonical(jsonrpc.decode(b"[1e999999999,1e-999999999]"))) < 100


def test_what_nests_too_deep_is_an_error_and_no_crash() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="too deep"):
        canonical(deep)


def test_how_deep_it_may_nest_does_not_depend_on_who_asks() -> None:
    deep: Any = 1
    for _ in range(256):
        deep = [deep]

    def asked(frames: int) -> bytes:
        return asked(frames - 1) if frames else canonical(deep)

    assert asked(200) == canonical(deep)
    with pytest.raises(ValueError, match="too deep"):
        canonical([deep])


@given(JSON)
def test_the_canonical_form_is_json_and_its_own_canonical_form(value: Any) -> None:
    text = canonical(jsonrpc.decode(json.dumps(value).encode()))
    assert canonical(jsonrpc.decode(text)) == text


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_order_and_the_indentation_of_a_definition_do_not_count(
    members: dict[str, Any],
) -> None:
    turned = dict(reversed(members.items()))
    assert _digest(json.dumps(members)) == _digest(json.dumps(turned, indent=2, ensure_ascii=False))


def test_a_member_that_is_no_json_is_an_error() -> None:
    with pytest.raises(ValueError, match="truncated"):
        definition_digest({"name": msgspec.Raw(b"{")})


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("-1.50", "-15e-1"),
        ("12e-1", "12e-1"),
        ("1e2", "100"),
        ("-2.0", "-2"),
        ("-0.0", "0"),
        ("1e400", "1" + "0" * 400),
        ("1e401", "1e401"),
        ("10e400", "1e401"),
    ],
)
def test_every_number_has_one_spelling(number: str, text: str) -> None:
    assert canonical(jsonrpc.decode(number.encode())).decode() == text

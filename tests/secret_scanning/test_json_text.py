"""JSON text: strings change, bytes around them do not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gatewright.secret_scanning import json_text
from gatewright.secret_scanning.held import Held, WithHeld
from gatewright.secret_scanning.json_text import redacted_json
from gatewright.secret_scanning.scanner import scanner

SECRETS = scanner(secrets=True, personal=frozenset())
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3
RANDOM = "q7w2e9r4t1y8u3i6o5p0"


def cleaned(raw: bytes) -> bytes:
    return redacted_json(raw, SECRETS, lambda rule, _: b"*")[0]


def test_text_in_which_nothing_is_found_is_the_same_object() -> None:
    """MGP-1.2-1"""
    for raw in (
        b'{"a" : [1.0, 1e400, "\\u00e9\\/"]}',
        b'{"token_type":"bearer","max_tokens":10}',
        b"{",
    ):
        assert redacted_json(raw, SECRETS, lambda rule, _: b"*") == (raw, [])
        assert cleaned(raw) is raw


def test_only_the_string_with_the_secret_changes() -> None:
    """GRH-out-1"""
    raw = (
        f'{{ "n" : 1.50, "big":123456789012345678901234567890, "t":"a {TOKEN} b" , "e":"\\u00e9" }}'
    )
    assert cleaned(raw.encode()) == raw.replace(TOKEN, "*").encode()


@pytest.mark.parametrize("place", [0, 1, 3, 10, len(TOKEN) - 1])
def test_an_escape_in_a_token_hides_nothing(place: int) -> None:
    escaped = TOKEN[:place] + f"\\u{ord(TOKEN[place]):04x}" + TOKEN[place + 1 :]
    assert cleaned(f'{{"t":"x {escaped}"}}'.encode()) == b'{"t":"x *"}'


def test_an_escaped_name_and_an_escaped_slash_hide_nothing() -> None:
    assert cleaned(b'{"p\\u0061ssword":"letmein"}') == b'{"p\\u0061ssword":"*"}'
    assert (
        cleaned(b'{"u":"https:\\/\\/me:hunter22@x.example"}') == b'{"u":"https://me:*@x.example"}'
    )


@pytest.mark.parametrize(
    ("value", "clean"),
    [
        ({"password": "letmein"}, {"password": "*"}),
        ({"password": 12345678, "token": None}, {"password": 12345678, "token": None}),
        ({"tokens": ["letmein", "letmeout"], "x": ["a"]}, {"tokens": ["*", "*"], "x": ["a"]}),
        (
            {"env": [{"name": "DB_PASSWORD", "value": "letmein"}]},
            {"env": [{"name": "DB_PASSWORD", "value": "*"}]},
        ),
        (
            {"Name": "/prod/db_password", "Type": "SecureString", "Value": "letmein"},
            {"Name": "/prod/db_password", "Type": "SecureString", "Value": "*"},
        ),
        (
            {"key": "API_TOKEN", "of": [{"value": "some"}, {"a": "b"}], "value": "letmein"},
            {"key": "API_TOKEN", "of": [{"value": "some"}, {"a": "b"}], "value": "*"},
        ),
        (
            {"env": [{"value": "letmein", "name": "DB_PASSWORD"}]},
            {"env": [{"value": "*", "name": "DB_PASSWORD"}]},
        ),
        (
            {"Value": "letmein", "Type": "SecureString", "Name": "/prod/db_password"},
            {"Value": "*", "Type": "SecureString", "Name": "/prod/db_password"},
        ),
        (
            {"value": "letmein", "of": [{"value": "some"}, {"a": "b"}], "key": "API_TOKEN"},
            {"value": "*", "of": [{"value": "some"}, {"a": "b"}], "key": "API_TOKEN"},
        ),
        (
            [{"value": "some", "name": "HOST"}, {"value": "letmein", "name": "DB_PASSWORD"}],
            [{"value": "some", "name": "HOST"}, {"value": "*", "name": "DB_PASSWORD"}],
        ),
        *(
            (one, one)
            for one in (
                [{"value": "letmein", "name": "HOST"}, {"type": "x", "name": "DB_PASSWORD"}],
                {"value": "letmein", "of": {"name": "DB_PASSWORD"}},
                {"other": "letmein", "value": 17, "name": "DB_PASSWORD"},
                {"value": {"value": "letmein"}, "name": "DB_PASSWORD"},
                [{"name": "DB_PASSWORD", "type": "x"}, {"name": "HOST", "value": "letmein"}],
                {"of": {"name": "DB_PASSWORD"}, "value": "letmein"},
                {"name": "DB_PASSWORD", "value": 17, "other": "letmein"},
            )
        ),
        ({"headers": {"Cookie": "a=bcdef1"}}, {"headers": {"Cookie": "*"}}),
        ({TOKEN: {"deep": [TOKEN]}}, {"*": {"deep": ["*"]}}),
        ({"text": json.dumps({"password": "letmein"})}, {"text": json.dumps({"password": "*"})}),
        ({"password": {"type": "string"}}, {"password": {"type": "string"}}),
    ],
)
def test_members_are_judged_at_every_depth_and_keep_their_types(value: Any, clean: Any) -> None:
    assert json.loads(cleaned(json.dumps(value).encode())) == clean
    assert json.loads(cleaned(json.dumps({"a": [value]}, indent=1).encode())) == {"a": [clean]}


def test_handles_of_the_protocol_arrive_as_they_are_and_only_where_it_puts_them() -> None:
    value = {"nextCursor": TOKEN, "structuredContent": {"nextCursor": TOKEN}}
    found = json.loads(cleaned(json.dumps(value).encode()))
    assert found == {"nextCursor": TOKEN, "structuredContent": {"nextCursor": "*"}}


@pytest.mark.parametrize(
    "name", ["nextCursor", "requestState", "progressToken", "taskId", "cursor"]
)
def test_a_known_secret_is_no_handle(name: str) -> None:
    held = Held()
    held.hold("a server", ["opaque-5512-Zk3Vq9Lx0Tb5Rw7N"])
    knowing = WithHeld(SECRETS, held)
    raw = json.dumps({name: "at opaque-5512-Zk3Vq9Lx0Tb5Rw7N", "x": TOKEN}).encode()
    found = redacted_json(raw, knowing, lambda rule, _: b"*")[0]
    assert json.loads(found) == {name: "at *", "x": "*"}


def test_each_place_is_counted_with_its_rule() -> None:
    raw = json.dumps({"a": TOKEN, "password": "letmein", "b": f"{TOKEN} {TOKEN}"}).encode()
    rules = redacted_json(raw, SECRETS, lambda rule, _: b"*")[1]
    assert sorted(rules) == ["github-token"] * 3 + ["named"]


json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.integers() | st.text(max_size=20)
    | st.sampled_from([TOKEN, "token", "password: x1y2z3", "\ud800", '"', "\\"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(st.text(max_size=5) | st.sampled_from(["password", "name", "value", "key"]), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(json_values, st.booleans())
def test_what_comes_out_is_json_of_the_same_shape_without_the_token(
    value: Any, ascii_only: bool
) -> None:
    raw = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    found = json.loads(cleaned(raw).decode("utf-8", "surrogatepass"))
    assert TOKEN not in json.dumps(found)
    assert shape(found) == shape(value)


def shape(value: Any) -> Any:
    if isinstance(value, dict):
        return [shape(one) for one in value.values()]
    if isinstance(value, list):
        return [shape(one) for one in value]
    return type(value) if isinstance(value, str) else value


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80).map(lambda data: data + b'"password":"' + data))
def test_text_that_is_no_json_breaks_nothing(data: bytes) -> None:
    assert isinstance(cleaned(data), bytes)


def test_what_stands_between_two_strings_is_gone_through_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[int] = []
    lowest = json_text._lowest

    def counted(between: bytes) -> int:
        seen.append(len(between))
        return lowest(between)

    monkeypatch.setattr(json_text, "_lowest", counted)
    pairs = b",".join([b'{"name":"password"}'] * 16)
    gap = b",".join([b"[]"] * 3000)
    raw = b"[" + pairs + b"," + gap + b"," + pairs + b"]"
    redacted_json(raw, SECRETS, lambda *_: b"x")
    flat = (
        b'{"a":[' + gap + b"]," + b",".join([b'"name":"password"'] * 16) + b',"b":[' + gap + b"]}"
    )
    redacted_json(flat, SECRETS, lambda *_: b"x")
    assert sum(seen) < 4 * (len(raw) + len(flat))

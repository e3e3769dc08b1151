"""JSON-RPC frames: nothing lost, nothing unbounded, an answer for everything."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.mcp.wire.jsonrpc import Malformed, Notification, Request, Response

DATA = Path(__file__).parents[4] / "shared" / "data" / "security"

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**40), max_value=10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=4)
    ),
    max_leaves=20,
)


OWN: dict[str, list[tuple[str, bytes]]] = {
    "json.jsonl": [
        *(
            ("block", one)
            for one in (b"[1,]", b"[1", b"NaN", b"01", b'"\x01"', b'"\xff"', b"{1:2}")
        ),
        *(("allow", one) for one in (b"[]", b'{"a":null}', b"1e5", b'"\\u00e9"', b" true ")),
    ],
    "jsonrpc.jsonl": [
        ("block", b"not json"),
        ("block", b"7"),
        ("block", b'{"jsonrpc":"2.0","id":{},"method":"ping"}'),
        ("block", b'{"jsonrpc":"2.0","id":1}'),
        ("allow", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'),
    ],
}
"""Judged everywhere; the larger collection, where it lies beside this checkout, comes on top."""


def cases(name: str) -> Iterator[tuple[str, str, bytes]]:
    yield from ((f"own-{number}", *one) for number, one in enumerate(OWN[name]))
    path = DATA / name
    for line in path.read_text().splitlines() if path.exists() else ():
        row = json.loads(line)
        given_ = row["input"]
        if "b64" in given_:
            yield row["id"], row["label"], base64.b64decode(given_["b64"])
        else:
            text, count = given_["repeat"]
            yield row["id"], row["label"], (text * count).encode()


@pytest.mark.parametrize(
    "text",
    [
        b"9007199254740993",
        b"123456789012345678901234567890",
        b"-0",
        b"-0.0",
        b"1.10",
        b"1e400",
        b"1E+5",
        b"0.1000000000000000055511151231257827",
        b"null",
        b'"a\\u0000b"',
    ],
)
def test_a_value_that_was_judged_is_forwarded_as_the_same_value(text: bytes) -> None:
    again = jsonrpc.encode(jsonrpc.decode(text))
    assert again == (b"0" if text == b"-0" else text)


@given(json_values)
def test_decoding_and_encoding_lose_nothing(value: Any) -> None:
    text = json.dumps(value).encode()
    once = jsonrpc.encode(jsonrpc.decode(text))
    assert json.loads(once) == value
    assert jsonrpc.encode(jsonrpc.decode(once)) == once


def test_a_number_no_float_can_hold_keeps_its_text_and_its_value() -> None:
    number = jsonrpc.decode(b"1.10")
    assert isinstance(number, jsonrpc.Num)
    assert number == 1.1
    assert number.text == "1.10"


def test_a_duplicate_key_collapses_to_what_was_judged() -> None:
    assert jsonrpc.encode(jsonrpc.decode(b'{"a":1,"a":2}')) == b'{"a":2}'


@pytest.mark.parametrize(
    "ident", [b"1", b"-7", b"0", b'"abc"', b'"\\u00e9"', b"123456789012345678901234567890"]
)
def test_an_id_is_echoed_as_it_was_written(ident: bytes) -> None:
    message = jsonrpc.parse(b'{"jsonrpc":"2.0","id":' + ident + b',"method":"ping"}')
    assert message == Request(ident, "ping")
    assert jsonrpc.response(ident, b"{}") == b'{"jsonrpc":"2.0","id":' + ident + b',"result":{}}'


@pytest.mark.parametrize(
    "ident", [b"null", b"true", b"1.5", b"{}", b"[1]", b'"' + b"x" * 200 + b'"']
)
def test_an_id_of_another_type_or_length_is_refused(ident: bytes) -> None:
    message = jsonrpc.parse(b'{"jsonrpc":"2.0","id":' + ident + b',"method":"ping"}')
    assert isinstance(message, Malformed)
    assert (message.code, message.id) == (jsonrpc.INVALID_REQUEST, b"null")


def test_messages_are_told_apart() -> None:
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","method":"n","params":{"a":1}}') == Notification(
        "n", b'{"a":1}'
    )
    assert jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"result":null}') == Response(b"1", b"null")
    assert jsonrpc.parse(b'{"id":"x","error":{"code":1},"jsonrpc":"2.0"}') == Response(
        b'"x"', error=b'{"code":1}'
    )


def test_a_trace_id_beside_params_is_read() -> None:
    """MGP-6.5-2: the trace may stand at the top of the request."""
    message = jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"method":"m","trace_id":"t-1"}')
    assert message == Request(b"1", "m", trace_id="t-1")


@pytest.mark.parametrize(
    "frame",
    [
        b'{"id":1,"method":"m"}',
        b'{"jsonrpc":"1.0","id":1,"method":"m"}',
        b'{"jsonrpc":2.0,"id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}}',
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":7}',
    ],
)
def test_a_malformed_request_is_answered_under_its_own_id(frame: bytes) -> None:
    """MGP-1.5-1 and MGP-14.2-1: malformed is -32600."""
    message = jsonrpc.parse(frame)
    assert isinstance(message, Malformed)
    assert (message.code, message.id) == (jsonrpc.INVALID_REQUEST, b"1")


@pytest.mark.parametrize(
    "frame", [b"", b"{", b"nonsense", b'{"a":NaN}', b"\xff\xfe{}", b'{"jsonrpc"']
)
def test_what_is_not_json_is_a_parse_error(frame: bytes) -> None:
    message = jsonrpc.parse(frame)
    assert isinstance(message, Malformed)
    assert (message.code, message.id) == (jsonrpc.PARSE_ERROR, b"null")


@given(st.binary(max_size=200))
def test_parsing_is_total(frame: bytes) -> None:
    assert isinstance(jsonrpc.parse(frame), (Request, Notification, Response, Malformed))
    parsed = jsonrpc.parse_many(frame)
    assert isinstance(parsed, (list, Malformed))


@pytest.mark.parametrize(
    "frame",
    [
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"m"}',
        b'{"jsonrpc":"2.0","id":1,"m\\u0065thod":"a","method":"b"}',
        b'{"jsonrpc":"2.0","id":1,"method":"a","params":{},"params":{"b":1}}',
        b'{"id":2,"jsonrpc":"2.0","id":1,"method":"m","params":{}}',
        b'{"id":1,"jsonrpc":"2.0","id":"long","method":"m","params":{}}',
        b'{"method":"","jsonrpc":"2.0","id":1,"method":"m","params":{}}',
        b'{"jsonrpc":"2.0","method":"","method":"m"}',
        b'{"id":1,"jsonrpc":"2.0","id":1,"method":"m"}',
        b'{"jsonrpc":"2.0","params":[],"method":"m","params":[]}',
    ],
)
def test_a_member_that_stands_twice_is_refused(frame: bytes) -> None:
    assert isinstance(jsonrpc.parse(frame), Malformed)


@pytest.mark.parametrize("space", [b"", b" " * 6, b" " * 7, b" " * 80])
def test_room_for_a_second_member_is_none_yet(space: bytes) -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m",%b"params":{"id":1,"method":""}}' % space
    assert isinstance(jsonrpc.parse(frame), Request)


@pytest.mark.parametrize("ident", [b"12345", b'"12345"'])
def test_an_id_is_as_long_as_the_limit_at_most(ident: bytes) -> None:
    for frame in (
        b'{"jsonrpc":"2.0","id":%b,"method":"m","params":{}}' % ident,
        b'{"jsonrpc":"2.0","id":%b,"result":{}}' % ident,
    ):
        assert not isinstance(jsonrpc.parse(frame, Limits(id_chars=5)), Malformed)
        assert isinstance(jsonrpc.parse(frame, Limits(id_chars=2)), Malformed)


def test_the_same_name_further_inside_is_no_repetition() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"method":"x","id":1,"e":"\\u0041"}}'
    assert isinstance(jsonrpc.parse(frame), Request)


def nested(levels: int) -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":1,"method":"m","params":'
        + b'{"a":' * levels
        + b"1"
        + b"}" * (levels + 1)
    )


def test_depth_is_bounded_at_the_limit_exactly() -> None:
    assert isinstance(jsonrpc.parse(nested(64)), Request)
    refused = jsonrpc.parse(nested(65))
    assert isinstance(refused, Malformed)
    assert "64 levels" in refused.message


def test_a_bracket_in_a_string_is_no_nesting() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"' + b"[" * 500 + b'"}}'
    assert isinstance(jsonrpc.parse(frame), Request)


@pytest.mark.parametrize("levels", [1_000, 40_000, 100_000])
def test_the_deepest_nesting_crashes_nothing(levels: int) -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + b"[" * levels + b"]" * levels + b"}"
    assert isinstance(jsonrpc.parse(frame), Malformed)


def test_keys_are_bounded() -> None:
    def frame(count: int) -> bytes:
        params = json.dumps({str(number): 0 for number in range(count)}).encode()
        return b'{"jsonrpc":"2.0","id":1,"method":"m","params":' + params + b"}"

    limits = Limits(keys=100)
    assert isinstance(jsonrpc.parse(frame(100), limits), Request)
    assert isinstance(jsonrpc.parse(frame(101), limits), Malformed)


def test_a_batch_is_bounded_and_never_empty() -> None:
    one = b'{"jsonrpc":"2.0","id":1,"method":"m"}'
    assert jsonrpc.parse_many(b"[" + one + b",7]") == [
        Request(b"1", "m"),
        Malformed(jsonrpc.INVALID_REQUEST, "a message must be one JSON object"),
    ]
    assert isinstance(jsonrpc.parse_many(b"[]"), Malformed)
    assert isinstance(jsonrpc.parse_many(b"[" + b",".join([one] * 51) + b"]"), Malformed)
    assert len(jsonrpc.parse_many(b"[" + b",".join([one] * 50) + b"]")) == 50  # type: ignore[arg-type]


def test_the_json_torture_data_never_breaks_a_frame() -> None:
    """Bytes that are no JSON text are refused as params; valid texts come through with their value."""
    wrong = []
    for ident, label, data in cases("json.jsonl"):
        message = jsonrpc.parse(
            b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":' + data + b"}}"
        )
        accepted = isinstance(message, Request) and _decodes(message.params)
        if (label == "block" and accepted) or (label == "allow" and not accepted):
            wrong.append((ident, label, data[:60]))
    assert wrong == []


def _decodes(text: bytes) -> bool:
    try:
        jsonrpc.decode(text)
    except ValueError:
        return False
    return True


def test_the_labelled_frames_are_judged_as_labelled() -> None:
    """What only a method's own rules can judge (a name's type, an unknown method) passes here."""
    wrong = []
    for ident, label, data in cases("jsonrpc.jsonl"):
        if b'"name":{}' in data or b"tools/nothing" in data:
            label = "allow"  # noqa: PLW2901
        refused = isinstance(jsonrpc.parse(data), Malformed)
        if label != "either" and refused != (label == "block"):
            wrong.append((ident, label, data))
    assert wrong == []


def test_frames_are_built_as_the_protocol_writes_them() -> None:
    assert json.loads(jsonrpc.request(b"7", "m", {"a": 1})) == {
        "jsonrpc": "2.0",
        "id": 7,
        "method": "m",
        "params": {"a": 1},
    }
    assert json.loads(jsonrpc.notification("n")) == {"jsonrpc": "2.0", "method": "n"}
    assert json.loads(jsonrpc.error(b"null", (-1, "no", {"d": None}))) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -1, "message": "no", "data": {"d": None}},
    }


@pytest.mark.parametrize("value", [b"1e1,", b"[],", b"1.00,", b'{"a":1},'])
def test_the_messages_of_a_batch_are_counted_together(value: bytes) -> None:
    """Each of them is let in by itself."""
    one = b'{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[%b1]}}' % (value * 5000)
    assert isinstance(jsonrpc.parse(one), Request)
    few = jsonrpc.parse_many(b"[" + one + b"]")
    assert isinstance(few, list)
    found = jsonrpc.parse_many(b"[" + b",".join([one] * 45) + b"]")
    assert isinstance(found, Malformed)
    assert found.message.endswith("send its messages one by one")


def test_notifications_are_told_from_questions_and_answers() -> None:
    assert jsonrpc.is_notification(jsonrpc.notification("notifications/progress", {"progress": 1}))
    assert not jsonrpc.is_notification(jsonrpc.request(b"1", "elicitation/create", {}))
    assert not jsonrpc.is_notification(jsonrpc.response(b"1", b"{}"))

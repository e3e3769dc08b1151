"""Header values and the annotations that make them."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import headers_and_meta
from gatewright.mcp.wire.methods import NOTIFICATIONS, WORDS

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {
            "type": "object",
            "properties": {"count": {"type": "integer", "x-mcp-header": "Count"}},
        },
        "dry": {"type": "boolean", "x-mcp-header": "Dry"},
    },
}


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("us-west1", "us-west1"),
        ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
        (" padded ", "=?base64?IHBhZGRlZCA=?="),
        ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
        ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
    ],
)
def test_the_specifications_examples_are_encoded_as_it_says(value: str, header: str) -> None:
    assert headers_and_meta.encode_header(value) == header
    assert headers_and_meta.decode_header(header) == value


@given(st.text(st.characters(codec="utf-8")))
def test_any_text_survives_a_header(text: str) -> None:
    header = headers_and_meta.encode_header(text)
    assert headers_and_meta.decode_header(header) == text
    assert all(" " <= one <= "~" for one in header)


@pytest.mark.parametrize(
    "header", ["=?base64?SGVsbG8?=", "=?base64?SGV%sbG8=?=", "=?base64?/w==?="]
)
def test_a_broken_wrapping_matches_nothing(header: str) -> None:
    assert headers_and_meta.decode_header(header) is None


@pytest.mark.parametrize("header", ["SGVsbG8=", "=?base64?SGVsbG8="])
def test_half_a_wrapping_is_a_literal(header: str) -> None:
    assert headers_and_meta.decode_header(header) == header


def test_annotations_are_found_along_properties() -> None:
    assert headers_and_meta.param_headers(SCHEMA) == {
        ("region",): "Region",
        ("deep", "count"): "Count",
        ("dry",): "Dry",
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "A"},
        {"properties": {"a": {"type": "string", "x-mcp-header": ""}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": "A\r\nB: c"}}},
        {"properties": {"a": {"type": "string", "x-mcp-header": 7}}},
        {"properties": {"a": {"type": "number", "x-mcp-header": "A"}}},
        {"properties": {"a": {"x-mcp-header": "A"}}},
        {
            "properties": {
                "a": {"type": "string", "x-mcp-header": "A"},
                "b": {"type": "string", "x-mcp-header": "a"},
            }
        },
        {"properties": {"a": {"items": {"type": "string", "x-mcp-header": "A"}}}},
        {"anyOf": [{"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}]},
        {"$defs": {"d": {"properties": {"a": {"type": "string", "x-mcp-header": "A"}}}}},
    ],
)
def test_a_flawed_annotation_is_named(schema: Any) -> None:
    with pytest.raises(ValueError, match="x-mcp-header"):
        headers_and_meta.param_headers(schema)


def test_data_that_looks_like_an_annotation_is_none() -> None:
    schema = {
        "properties": {"a": {"default": {"x-mcp-header": "A"}, "enum": [{"x-mcp-header": 1}]}}
    }
    assert headers_and_meta.param_headers(schema) == {}


def test_request_headers_mirror_the_body() -> None:
    params = {"name": "run", "arguments": {"region": "é", "deep": {"count": 42}, "dry": None}}
    assert headers_and_meta.request_headers(
        "tools/call", params, headers_and_meta.param_headers(SCHEMA), "2026-07-28"
    ) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "run",
        "Mcp-Param-Region": "=?base64?w6k=?=",
        "Mcp-Param-Count": "42",
    }


GOOD = {"mcp-method": "tools/call", "mcp-name": "run", "mcp-param-region": "eu"}
BODY = {"name": "run", "arguments": {"region": "eu"}}


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"mcp-method": "TOOLS/CALL"}, "Mcp-Method"),
        ({"mcp-method": None}, "Mcp-Method"),
        ({"mcp-name": "other"}, "Mcp-Name"),
        ({"mcp-name": None}, "Mcp-Name"),
        ({"mcp-param-region": "us"}, "Mcp-Param-Region"),
        ({"mcp-param-region": None}, "Mcp-Param-Region"),
        ({"mcp-param-region": "=?base64?ZXU?="}, "Mcp-Param-Region"),
        ({"mcp-param-count": "1"}, "Mcp-Param-Count"),
    ],
)
def test_headers_that_disagree_with_the_body_are_named(change: dict[str, Any], word: str) -> None:
    headers = {name: value for name, value in {**GOOD, **change}.items() if value is not None}
    flaw = headers_and_meta.check_headers(
        headers, "tools/call", BODY, headers_and_meta.param_headers(SCHEMA)
    )
    assert flaw is not None
    assert word in flaw


def test_headers_that_agree_pass() -> None:
    annotations = headers_and_meta.param_headers(SCHEMA)
    assert headers_and_meta.check_headers(GOOD, "tools/call", BODY, annotations) is None
    wrapped = {**GOOD, "mcp-param-region": "=?base64?ZXU=?="}
    assert headers_and_meta.check_headers(wrapped, "tools/call", BODY, annotations) is None


def test_a_name_that_looks_wrapped_has_to_be_wrapped() -> None:
    name = "=?base64?ZXU=?="
    params = {**BODY, "name": name}
    said = {**GOOD, "mcp-name": name}
    flaw = headers_and_meta.check_headers(said, "tools/call", params, {})
    assert flaw == "Mcp-Name does not match 'name' of the body"
    said["mcp-name"] = headers_and_meta.encode_header(name)
    assert headers_and_meta.check_headers(said, "tools/call", params, {}) is None


def test_integers_compare_as_numbers() -> None:
    annotations: dict[tuple[str, ...], str] = {("n",): "N"}
    for said, value, agrees in [("42.0", 42, True), ("42", 42.0, True), ("43", 42, False)]:
        headers = {"mcp-method": "x", "mcp-param-n": said}
        flaw = headers_and_meta.check_headers(
            headers, "x", {"arguments": {"n": value}}, annotations
        )
        assert (flaw is None) == agrees


def test_what_no_call_has_sent_is_of_the_server() -> None:
    """Every notification of MCP's that servers send is about one call of its sender's, or told apart from all calls."""
    of_a_call = {f"notifications/{one}" for one in ("cancelled", "progress", "message")}
    sent = {one.method for one in WORDS if "server" in one.by and not one.extension}
    mgp = {"notifications/mgp.event", "notifications/mgp.lifecycle"}
    assert {
        one for one in sent if one.startswith(NOTIFICATIONS)
    } == of_a_call | headers_and_meta.OF_THE_SERVER - mgp
    assert mgp < headers_and_meta.OF_THE_SERVER


@pytest.mark.parametrize("digits", ["9" * 5000, f"{'9' * 5000}.0"])
@pytest.mark.parametrize("value", [42, 1e308, 10**4000])
def test_a_number_of_more_digits_than_are_read_matches_nothing(digits: str, value: Any) -> None:
    annotations = headers_and_meta.param_headers(SCHEMA)
    body = {"name": "run", "arguments": {"region": "eu", "deep": {"count": value}}}
    for said in (digits, f"=?base64?{b64encode(digits.encode()).decode()}?="):
        flaw = headers_and_meta.check_headers(
            {**GOOD, "mcp-param-count": said}, "tools/call", body, annotations
        )
        assert flaw == "Mcp-Param-Count does not match argument 'deep.count'"

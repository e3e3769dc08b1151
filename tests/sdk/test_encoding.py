from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import pathlib
import socket
import uuid
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.sdk import SerializationError
from gatewright.sdk.encoding import json_text, to_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


class Model(pydantic.BaseModel):
    day: dt.date


@dataclasses.dataclass
class Point:
    x: int
    tags: set[str]


class Name(str):
    __slots__ = ()


class Length(float):
    """As `numpy.float64` is one."""


class Color(enum.Enum):
    RED = "red"


@given(JSON)
def test_json_values_come_back_as_they_were(value: Any) -> None:
    """CDM-fr-2: Python objects to JSON and back."""
    plain, text = json_text(value, "it")
    assert plain == value
    assert json.loads(text) == value


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Point(1, {"a"}), {"x": 1, "tags": ["a"]}),
        (Model(day=dt.date(2026, 1, 2)), {"day": "2026-01-02"}),
        ({"m": Model(day=dt.date(2026, 1, 2))}, {"m": {"day": "2026-01-02"}}),
        (Color.RED, "red"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pathlib.PurePosixPath("/a"), "/a"),
        ((1, b"hi"), [1, "aGk="]),
        ({3: "x"}, {"3": "x"}),
        ([Name("a"), Length(1.5), jsonrpc.Num("1E2")], ["a", 1.5, 100.0]),
    ],
)
def test_typed_values_have_a_json_form(value: Any, plain: Any) -> None:
    assert to_json(value) == plain


@pytest.mark.parametrize(
    "value", [float("nan"), (1.0, float("inf")), {"a": {"b": float("-inf")}}, object(), lambda: 1]
)
def test_what_json_cannot_say_is_an_error_and_no_null(value: Any) -> None:
    """CDM-err-5, CDM-con-4"""
    with pytest.raises(
        SerializationError, match=r"what f returned has no JSON form: .*Return JSON"
    ):
        json_text(value, "what f returned")


def test_a_socket_cannot_be_sent() -> None:
    """CDM-err-5: the provocation of the row, by name of its type."""
    with socket.socket() as one, pytest.raises(SerializationError, match="socket is none of"):
        json_text({"s": one}, "it")


def test_a_value_that_contains_itself_ends_with_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(SerializationError):
        json_text(endless, "it")

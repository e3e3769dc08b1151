from __future__ import annotations

import datetime as dt
import decimal
import enum
import pathlib
import uuid
from typing import Any

import pytest

from gatewright.schemas.schema import compile_schema
from gatewright.sdk.scalars import literal_schema, scalar_of

UUID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("hint", "sent", "given"),
    [
        (str, "x", "x"),
        (bool, True, True),
        (int, 3.0, 3),
        (float, 3, 3.0),
        (bytes, "aGk=", b"hi"),
        (dt.datetime, "2026-01-02T03:04:05Z", dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)),
        (dt.date, "2026-01-02", dt.date(2026, 1, 2)),
        (dt.time, "03:04:05", dt.time(3, 4, 5)),
        (dt.timedelta, "PT90S", dt.timedelta(seconds=90)),
        (uuid.UUID, UUID, uuid.UUID(UUID)),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (decimal.Decimal, "1.10", decimal.Decimal("1.10")),
        (decimal.Decimal, 1.5, decimal.Decimal("1.5")),
    ],
)
def test_a_json_value_becomes_what_the_function_asked_for(
    hint: type, sent: Any, given: Any
) -> None:
    found = scalar_of(hint)
    assert found is not None
    schema, decode = found
    assert compile_schema(schema).objection(sent) is None
    made = sent if decode is None else decode(sent)
    assert (made, type(made)) == (given, type(given))


def test_other_types_are_no_scalars() -> None:
    assert scalar_of(list) is None
    assert scalar_of("str") is None


def test_the_values_of_a_literal_keep_their_type() -> None:
    class Size(enum.Enum):
        SMALL = "s"

    assert literal_schema(["a", Size.SMALL]) == {"type": "string", "enum": ["a", "s"]}
    assert literal_schema([1, "a"]) == {"enum": [1, "a"]}
    with pytest.raises(TypeError, match="is no JSON value"):
        literal_schema([b"x"])

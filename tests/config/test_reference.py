"""The configuration reference: every key has a sentence, types and units are those that hold, and every example loads."""

from __future__ import annotations

import re
import tomllib
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta

from gatewright.config import load
from gatewright.config.bounds import Seconds, rate
from gatewright.config.reference import Key, keys_of, literal, paragraphs, sentences
from gatewright.config.schema import TABLES
from tests.config.examples import EXAMPLES, VARIABLES

KEYS = [(table, key) for table, shape in TABLES.items() for key in keys_of(shape)]
RATES = ("_per_s", "_per_second", "_per_minute")
UNITS = {"_s": "s", "_secs": "s", "_ms": "ms", "_bytes": "bytes", "_days": "days"}


class Inner(msgspec.Struct, frozen=True):
    """A table in the table."""

    some: int = 1


class Written(msgspec.Struct, kw_only=True):
    """What stands in a table.

    And what else
    is said.
    """

    need: str
    """It is required."""
    word: Literal["a", "b"] = "a"
    """One of
    two words."""
    number: Annotated[int, Meta(ge=1, le=2**40)] | None = None
    wait_s: Seconds = 2.0
    """Text."""
    often: tuple[Annotated[float, Meta(ge=0, le=9, extra=rate("calls"))], ...] = ()
    names: dict[str, tuple[str, ...]] = {}
    place: Annotated[str, Meta(pattern=r"\Aa|b\Z")] = ""
    title: Annotated[str, Meta(max_length=9)] = "t"
    list: Annotated[tuple[str, ...], Meta(min_length=1)] = ("x", "y")
    form: Annotated[str, Meta(pattern="x", description="an x")] = "x"
    when: datetime | None = None
    any: dict[str, Any] = {}
    on: bool = False
    inner: Inner = Inner()


def test_the_keys_of_a_shape_are_as_it_has_them() -> None:
    assert list(keys_of(Written)) == [
        Key("need", "string", "", "required", "It is required."),
        Key("word", '`"a"`, `"b"`', "", '`"a"`', "One of two words."),
        Key("number", "integer, 1 to 2^40", "", "unset", ""),
        Key("wait_s", "float, above 0 to 86400", "s", "`2.0`", "Text."),
        Key("often", "array of float, 0 to 9", "calls/s", "`[]`", ""),
        Key("names", "table of array of string", "", "`{}`", ""),
        Key("place", "string that matches `^a|b$`", "", '`""`', ""),
        Key("title", "string, 0 to 9 characters", "", '`"t"`', ""),
        Key("list", "array of string, not empty", "", '`["x", "y"]`', ""),
        Key("form", "string: an x", "", '`"x"`', ""),
        Key("when", "offset date-time", "", "unset", ""),
        Key("any", "table of any value", "", "`{}`", ""),
        Key("on", "boolean", "", "`false`", ""),
        Key("inner", "table", "", "", ""),
    ]


def test_the_docstring_of_a_table_is_read_by_paragraphs() -> None:
    assert paragraphs(Written) == ["What stands in a table.", "And what else is said."]


def test_only_a_text_below_a_field_is_its_sentence() -> None:
    assert sentences(Written) == {
        "need": "It is required.",
        "word": "One of two words.",
        "wait_s": "Text.",
    }


@pytest.mark.parametrize("value", [1, 1.5, True, "a", ["a", 1]])
def test_values_are_written_as_in_a_file(value: Any) -> None:
    assert tomllib.loads(f"v = {literal(value)}")["v"] == value
    assert literal({"a": value}) == f"{{a = {literal(value)}}}"


@pytest.mark.parametrize(("table", "key"), KEYS, ids=[f"{table}-{key.name}" for table, key in KEYS])
def test_every_key_of_the_file_has_a_sentence(table: str, key: Key) -> None:
    """The docstring below the field, in `gatewright.config`."""
    assert re.fullmatch(r"[A-Z0-9`].*[.]", key.sentence), f"{table}.{key.name}: {key.sentence!r}"


@pytest.mark.parametrize("table", TABLES)
def test_every_table_of_the_file_says_what_it_is(table: str) -> None:
    for text in paragraphs(TABLES[table]):
        assert re.fullmatch(r"[A-Z0-9`].*[.]", text)


def test_every_quantity_has_the_unit_that_its_name_ends_with() -> None:
    rates = [key for _, key in KEYS if key.name.endswith(RATES)]
    rest = [key for _, key in KEYS if key not in rates]
    named = [(key, unit) for key in rest for end, unit in UNITS.items() if key.name.endswith(end)]
    assert min(len(rates), len(named)) >= 9
    assert [key.name for key in rates if "/" not in key.unit] == []
    assert [key.name for key, unit in named if key.unit != unit] == []


@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_every_example_of_the_reference_loads_without_a_warning(
    page: str, text: str, tmp_path: Path
) -> None:
    path = tmp_path / "mgp.toml"
    path.write_text(text, encoding="utf-8")
    environ = {**VARIABLES, "HOME": str(tmp_path), "GATEWRIGHT_STATE": str(tmp_path / "state")}
    found = load(path, environ=environ)
    assert found.files == (path,), page
    assert found.warnings == ()
    problems = [one.problem.what for one in found.servers if one.problem is not None]
    assert all(re.fullmatch(r"the secret \S+ is not set", what) for what in problems)

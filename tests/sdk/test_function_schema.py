from __future__ import annotations

import dataclasses
import datetime as dt
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from gatewright.sdk import Image, RegistrationError, Result, SchemaError, Text
from gatewright.sdk.function_schema import fits, read_signature, words_of

if TYPE_CHECKING:
    from nowhere import Ghost  # type: ignore[import-not-found]


@dataclasses.dataclass
class Point:
    x: int
    y: int = 0


def google(query: str, limit: int = 5) -> list[str]:
    """Search everything.

    A second paragraph.

    Args:
        query: What to look for,
            over two lines.
        limit: How many at most.

    Returns:
        The best.
    """
    return [query] * limit


def numpy(query: str, limit: int = 5) -> list[str]:
    """Search everything.

    A second paragraph.

    Parameters
    ----------
    query : str
        What to look for,
        over two lines.
    limit : int
        How many at most.
    """
    return [query] * limit


def sphinx(query: str, limit: int = 5) -> list[str]:
    """Search everything.

    A second paragraph.

    :param query: What to look for,
        over two lines.
    :param limit: How many at most.
    """
    return [query] * limit


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_docstrings_of_three_styles_describe_tool_and_parameters(
    function: Callable[..., Any],
) -> None:
    words = words_of(function)
    assert words.summary == "Search everything.\n\nA second paragraph."
    assert words.parameters == {
        "query": "What to look for, over two lines.",
        "limit": "How many at most.",
    }


def test_a_signature_gives_the_schema_defaults_included() -> None:
    """CDM-con-2"""
    read = read_signature("search", google, words_of(google))
    assert read.input_schema == {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for, over two lines."},
            "limit": {"type": "integer", "description": "How many at most.", "default": 5},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    assert read.wraps_result
    assert read.output_schema == {
        "type": "object",
        "properties": {"result": {"type": "array", "items": {"type": "string"}}},
        "required": ["result"],
    }


def test_an_annotated_text_goes_before_the_docstring() -> None:
    def f(a: Annotated[int, "from the hint"]) -> None:
        """F.

        Args:
            a: from the docstring
        """

    schema = read_signature("f", f, words_of(f)).input_schema
    assert schema["properties"]["a"]["description"] == "from the hint"


def returns(hint: Any) -> tuple[dict[str, Any] | None, bool]:
    def f() -> None: ...

    f.__annotations__ = {"return": hint}
    read = read_signature("f", f, words_of(f))
    return read.output_schema, read.wraps_result


@pytest.mark.parametrize(
    "hint",
    [
        *(None, Any, object, str, bytes, Image, list[Image | Text], Callable[[], int]),
        *(Image | None, dict[str, int] | Text, Result, Result | None),
    ],
)
def test_return_types_that_promise_no_structure_give_no_schema(hint: Any) -> None:
    assert returns(hint) == (None, False)


def test_an_object_is_its_own_output_and_anything_else_is_wrapped() -> None:
    schema, wraps = returns(Point)
    assert (schema or {})["properties"]["x"] == {"type": "integer"}
    assert not wraps
    assert returns(int)[1]
    assert returns(dict[str, int])[1] is False


def test_a_none_default_makes_a_parameter_nullable() -> None:
    def f(a: str = "") -> None: ...

    f.__defaults__ = (None,)
    found = read_signature("f", f, words_of(f)).input_schema["properties"]["a"]
    assert found == {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}


def test_a_value_that_cannot_become_the_type_names_its_parameter() -> None:
    def f(when: dt.date) -> None: ...

    prepare = read_signature("f", f, words_of(f)).prepare
    assert prepare is not None
    assert prepare({}) == {}
    assert prepare({"when": "2026-01-02"}) == {"when": dt.date(2026, 1, 2)}
    with pytest.raises(SchemaError, match="arguments/when of f"):
        prepare({"when": "soon"})


def untyped(a: int, b) -> None: ...  # type: ignore[no-untyped-def]  # noqa: ANN001


def several(*values: int) -> None: ...


def anything(**values: int) -> None: ...


def positional(a: int, /) -> None: ...


def ghost(a: Ghost) -> None: ...


@dataclasses.dataclass
class Haunted:
    by: Ghost


def haunted(a: list[Haunted]) -> None: ...


def unsayable(a: Callable[[], int]) -> None: ...


def bad_default(a: Any = object()) -> None: ...  # noqa: B008


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (untyped, "parameter 'b' of untyped.. has no type"),
        (several, r"parameter \*values of several.. has no name"),
        (anything, r"parameter \*\*values of anything.. has no name"),
        (positional, "parameter a of positional.. has no name"),
        (ghost, "type hints of ghost.. cannot be read: name 'Ghost' is not defined"),
        (haunted, "parameter 'a': the type hints of Haunted cannot be read: name 'Ghost' is not"),
        (unsayable, "parameter 'a': .*has no JSON form"),
        (bad_default, "the default of 'a' has no JSON form"),
    ],
)
def test_a_function_that_gives_no_schema_is_refused_by_parameter(
    function: Callable[..., Any], words: str
) -> None:
    """CDM-con-1"""
    with pytest.raises(RegistrationError, match=words):
        read_signature("f", function, words_of(function))


def test_an_explicit_schema_and_its_function_have_to_agree() -> None:
    """CDM-con-2"""
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}

    def both(a: int, b: int, c: int = 3) -> None: ...

    def one(a: int) -> None: ...

    def more(a: int, b: int, c: int) -> None: ...

    def open_(**values: int) -> None: ...

    for function in (both, open_, functools.partial(more, c=1)):
        fits("f", function, schema)
    with pytest.raises(RegistrationError, match=r"the schema has 'b', which .*one.. does not take"):
        fits("f", one, schema)
    with pytest.raises(RegistrationError, match=r"more\(\) needs 'c', which the schema does not"):
        fits("f", more, schema)

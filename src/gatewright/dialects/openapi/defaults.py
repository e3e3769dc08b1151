"""`Defaults`: judges whether a default fits its OpenAPI 3.0 Schema Object, in a bounded number of comparisons; in doubt it does not.

Where that is hard to say, or would take more comparisons than are left, it is no: a default that is left out takes nothing from
anybody, and one that does not fit makes validators refuse the whole document.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from gatewright.mcp.wire import jsonrpc

__all__ = ["Defaults", "is_number"]

_BEYOND = frozenset(
    {"allOf", "oneOf", "not", "$ref", "format", "pattern", "multipleOf", "uniqueItems"}
)


class Defaults:
    """Judges all defaults of one schema with at most `comparisons`: values times branches would be the square of what was written."""

    def __init__(self, comparisons: int) -> None:
        self._left = comparisons

    def fits(self, default: Any, schema: Mapping[str, Any]) -> bool:
        """Whether a default surely is what a Schema Object describes, as one has to be."""
        try:
            return _conforms(default, schema, self._spend)
        except _TooDear:
            return False

    def _spend(self, comparisons: int) -> None:
        self._left -= comparisons
        if self._left < 0:
            raise _TooDear


class _TooDear(Exception):  # noqa: N818 - what it would be
    """There are no comparisons left."""


_Spend = Callable[[int], None]


def _conforms(value: Any, schema: Mapping[str, Any], spend: _Spend) -> bool:
    spend(1)
    if _BEYOND.intersection(schema) or not _is_listed(value, schema, spend):
        return False
    branches = schema.get("anyOf")
    if branches is not None and not any(_conforms(value, one, spend) for one in branches):
        return False
    kind = schema.get("type")
    if value is None:
        return kind is None or schema.get("nullable") is True
    return any(kind in names and fits(value, schema, spend) for names, fits in _VALUES)


def _is_listed(value: Any, schema: Mapping[str, Any], spend: _Spend) -> bool:
    if "enum" not in schema:
        return True
    # A list or an object is compared member by member with each.
    each = len(jsonrpc.encode(value)) if isinstance(value, list | dict) else 1
    spend(each * len(schema["enum"]))
    return value in schema["enum"]


def _text_fits(value: Any, schema: Mapping[str, Any], spend: _Spend) -> bool:
    return isinstance(value, str) and _counted(value, schema, "Length")


def _list_fits(value: Any, schema: Mapping[str, Any], spend: _Spend) -> bool:
    items = schema.get("items", {})
    return (
        isinstance(value, list)
        and _counted(value, schema, "Items")
        and all(_conforms(one, items, spend) for one in value)
    )


def _number_fits(value: Any, schema: Mapping[str, Any], spend: _Spend) -> bool:
    if not is_number(value) or (schema.get("type") == "integer" and type(value) is not int):
        return False
    low, high = schema.get("minimum", value), schema.get("maximum", value)
    low_fits = low < value if schema.get("exclusiveMinimum") else low <= value
    return bool(low_fits and (value < high if schema.get("exclusiveMaximum") else value <= high))


def _counted(value: str | list[Any], schema: Mapping[str, Any], what: str) -> bool:
    least, most = schema.get(f"min{what}", 0), schema.get(f"max{what}", len(value))
    return bool(least <= len(value) <= most)


_Fits = Callable[[Any, Mapping[str, Any], _Spend], bool]
_VALUES: tuple[tuple[tuple[str | None, ...], _Fits], ...] = (
    ((None, "boolean"), lambda value, *_: isinstance(value, bool)),
    ((None, "string"), _text_fits),
    ((None, "number", "integer"), _number_fits),
    ((None, "array"), _list_fits),
    (
        (None, "object"),
        lambda value, schema, _: value == {} and not {"required", "minProperties"} & schema.keys(),
    ),
)


def is_number(value: Any) -> TypeGuard[int | float]:
    """Whether it is a number of JSON: truth values are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)

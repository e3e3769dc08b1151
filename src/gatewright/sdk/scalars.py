"""JSON Schema and decoding for scalar types (int, float, datetime, UUID, bytes, …) and literals.

A `float` parameter may be sent `3` and an `int` one `3.0`, because JSON knows only numbers: both become what the
author asked for. Times are RFC 3339, durations ISO 8601, bytes base64.

Types are known by name, so that nobody loads `decimal` who has no use for it.
"""

from __future__ import annotations

import base64
import enum
from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["literal_schema", "scalar_of"]

_Decode = Callable[[Any], Any]
_Make = Callable[[type], _Decode | None]


def _int(value: Any) -> int:
    return value if type(value) is int else int(value)


def _float(value: Any) -> float:
    return value if type(value) is float else float(value)


def _bytes(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _itself(owner: type) -> _Decode:
    return owner


def _iso(owner: type) -> _Decode:
    found: _Decode = owner.fromisoformat  # type: ignore[attr-defined]
    return found


def _converted(owner: type) -> _Decode:
    def convert(value: Any) -> Any:
        import msgspec

        return msgspec.convert(value, owner)

    return convert


def _text(format_: str) -> dict[str, Any]:
    return {"type": "string", "format": format_}


# As text, too: a JSON number may be read as a float on its way.
_DECIMAL = {"type": ["number", "string"], "pattern": r"^-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?$"}

_SCALARS: dict[str, tuple[dict[str, Any], _Make]] = {
    "builtins.str": ({"type": "string"}, lambda _: None),
    "builtins.bool": ({"type": "boolean"}, lambda _: None),
    "builtins.int": ({"type": "integer"}, lambda _: _int),
    "builtins.float": ({"type": "number"}, lambda _: _float),
    "builtins.bytes": ({"type": "string", "contentEncoding": "base64"}, lambda _: _bytes),
    "datetime.datetime": (_text("date-time"), _iso),
    "datetime.date": (_text("date"), _iso),
    "datetime.time": (_text("time"), _iso),
    "datetime.timedelta": (_text("duration"), _converted),
    "uuid.UUID": (_text("uuid"), _itself),
    "pathlib.Path": (_text("path"), _itself),
    "pathlib.PurePath": (_text("path"), _itself),
    "pathlib.PurePosixPath": (_text("path"), _itself),
    "decimal.Decimal": (_DECIMAL, lambda owner: lambda value: owner(str(value))),
}


def scalar_of(hint: Any) -> tuple[dict[str, Any], _Decode | None] | None:
    """The schema of such a type, and how a value that fits becomes one (None: it is one); None for others."""
    if not isinstance(hint, type):
        return None
    # `pathlib._local` in some versions of Python
    found = _SCALARS.get(f"{hint.__module__.partition('.')[0]}.{hint.__qualname__}")
    return None if found is None else (dict(found[0]), found[1](hint))


_NAMES: dict[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}


def literal_schema(values: Iterable[Any]) -> dict[str, Any]:
    """The schema of one of these values. Raises `TypeError` for a value that JSON does not have."""
    listed = [one.value if isinstance(one, enum.Enum) else one for one in values]
    wrong = [one for one in listed if not isinstance(one, str | int | float | bool | None)]
    if wrong:
        raise TypeError(f"{wrong[0]!r} is no JSON value; use text, numbers or booleans")
    kinds = {_NAMES.get(type(one), "null") for one in listed}
    schema: dict[str, Any] = {"enum": listed}
    if len(kinds) == 1:
        schema = {"type": kinds.pop(), "enum": listed}
    return schema

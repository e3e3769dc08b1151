"""`filled`: a value of any type that the console's pages show, with every member there: each text in it is one that hides something.
`said_in`: the same value with another text in its place."""

from __future__ import annotations

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

__all__ = ["HIDES", "filled", "said_in"]

HIDES = "zq0zq\u202e<b zq0zq>"
"""A page on which it stands unmarked shows what somebody else wrote without a filter."""
_PLAIN: Mapping[Any, Any] = {str: HIDES, int: 3, float: 3.0, bool: True, Any: HIDES, object: HIDES}
_ROWS = (list, tuple, Sequence, set, frozenset)


def filled(kind: Any, /, **given: Any) -> Any:
    """One of this kind; of a structure `given` members as they are."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        hints = get_type_hints(kind)
        fields = [one.name for one in msgspec.structs.fields(kind)]
        return kind(
            **{name: given[name] if name in given else filled(hints[name]) for name in fields}
        )
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        return kind(**{name: given.get(name, filled(one)) for name, one in hints.items()})
    return _PLAIN[kind] if kind in _PLAIN else _of(get_origin(kind), get_args(kind))


def _of(origin: Any, args: tuple[Any, ...]) -> Any:
    """Of a kind that is made of others."""
    if origin is Annotated:
        return filled(args[0])
    if origin in (Union, types.UnionType):
        return filled(next(one for one in args if one is not type(None)))
    if origin is Literal:
        return next(one for one in args if one)
    if origin in _ROWS:
        return [filled(args[0])] if origin is list else (filled(args[0]),)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {HIDES: filled(args[1])}
    raise TypeError(f"nothing is known of {origin}{args}")


def said_in(value: Any, text: str) -> Any:
    """A value with this text wherever it has `HIDES`, names of members included."""
    if isinstance(value, str):
        return value.replace(HIDES, text)
    if isinstance(value, msgspec.Struct):
        members = msgspec.structs.asdict(value)
        return msgspec.structs.replace(
            value, **{name: said_in(one, text) for name, one in members.items()}
        )
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(said_in(one, text) for one in value))
    if isinstance(value, Mapping):
        return {said_in(name, text): said_in(one, text) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return type(value)(said_in(one, text) for one in value)
    return value

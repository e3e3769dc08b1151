"""Converts Python values (dataclasses, enums, dates, models, …) to JSON values, or raises a clear error.

Dataclasses, enums, times, UUIDs, paths, sets, decimals, named tuples, pydantic models and msgspec structs have a
form. What has none (an open file, a socket, a number that is not finite) is an error, never a guess: a tool that
returned `NaN` would otherwise be understood as having returned nothing.
"""

from __future__ import annotations

import math
from typing import Any

from gatewright.sdk.errors import SerializationError

__all__ = ["json_text", "to_json"]

_PLAIN = (str, int, bool, type(None))


def to_json(value: Any) -> Any:
    """The value in terms of dict, list, str, int, float, bool and None. Raises `TypeError` or `ValueError`."""
    # Most results, for which msgspec is not loaded.
    if type(value) in _PLAIN:
        return value
    import msgspec

    try:
        plain = msgspec.to_builtins(value, str_keys=True, enc_hook=_hook)
    except (msgspec.MsgspecError, RecursionError, OverflowError) as problem:
        raise ValueError(str(problem)) from None
    return _listed(plain)


def json_text(value: Any, whose: str) -> tuple[Any, str]:
    """The JSON value and its text. Raises `SerializationError` that begins with `whose`."""
    try:
        plain = to_json(value)
        from gatewright.mcp.wire import jsonrpc

        return plain, jsonrpc.encode(plain).decode()
    except (TypeError, ValueError, OverflowError, UnicodeError, RecursionError) as problem:
        raise SerializationError(
            f"{whose} has no JSON form: {problem}", details={"type": type(value).__name__}
        ) from problem


def _hook(value: Any) -> Any:
    dump = getattr(value, "model_dump", None)
    if dump is not None and not isinstance(value, type):
        return dump(mode="json", by_alias=True)
    if hasattr(value, "__fspath__"):
        return value.__fspath__()
    for plain in (
        str,
        int,
        float,
    ):  # a subclass: `numpy.float64`, and numbers of a call that keep their text
        if isinstance(value, plain):
            return plain(value)
    raise TypeError(f"{type(value).__name__} is none of the types that JSON can say")


def _listed(plain: Any) -> Any:
    """The value with lists for tuples. Raises `ValueError` for a number that is not finite."""
    if not _finite(plain):
        return _lists(plain)
    return plain


def _finite(value: Any) -> bool:
    """Raises `ValueError` for a number that is not; False where there is a tuple."""
    level, tuples = [value], False
    while level:
        below: list[Any] = []
        for one in level:
            # msgspec would write `null`.
            if type(one) is float and not math.isfinite(one):
                raise ValueError(f"{one} is no JSON number")
            if type(one) is dict:
                below.extend(one.values())
            elif type(one) is list or type(one) is tuple:
                tuples = tuples or type(one) is tuple
                below.extend(one)
        level = below
    return not tuples


def _lists(value: Any) -> Any:
    if type(value) is dict:
        return {name: _lists(one) for name, one in value.items()}
    return [_lists(one) for one in value] if type(value) in {list, tuple} else value

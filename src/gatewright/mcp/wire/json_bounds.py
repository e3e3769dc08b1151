"""Checks depth, member and value counts, integer lengths and decoding cost of JSON params before they are decoded for use.

Theory: brackets, colons and commas inside strings are counted too, which costs next to nothing and can only be too many;
only a count over a limit pays for the exact one. Of depth there is one count between the two, of the brackets alone (`_is_shallow`): else
each message with some rows in it would be decoded only for that, and each nested one a third of its time in Python.
"""

from __future__ import annotations

import gc
from typing import Any

import msgspec
from msgspec.structs import force_setattr

from gatewright.mcp.wire.foreign_json import heavy, without_strings

__all__ = ["DECODED_BYTES", "Limits", "flaw_of"]

DECODED_BYTES = 1024 * 1024
"""The longest text of a server, besides results, that is passed on. How much becomes Python objects while everybody waits
is counted besides (`foreign_json`). Results may be longer, and are decoded by workers or not at all."""

_plain = msgspec.json.Decoder(float_hook=len)
"""For counting. Decimals are not read: large exponents take microseconds each, and there is no need."""
_LIGHT = 64 * 1024
"""Bytes; a shorter text takes twenty milliseconds at most, whatever it is, and of a longer one what stands in strings is counted nowhere."""
_DIGITS = 1000
"""Of one integer: to read and write one takes the square of them."""
_NINES = bytes.maketrans(b"012345678", b"9" * 9)
_TOO_MANY = b"9" * (_DIGITS + 1)
_LARGEST = 10**_DIGITS
_FLAT = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_CHAIN = 8
_CHAINED = b"[" * _CHAIN + b"]" * _CHAIN
_PASSES = 24
"""So often the brackets of one text are gone through; what is left then is counted exactly."""
_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Limits(msgspec.Struct, frozen=True):
    """Bounds on one frame. Counts, except `id_chars`, which are characters of the id's JSON text. `values` counts every value,
    the elements of lists as well."""

    depth: int = 64
    keys: int = 10_000
    batch: int = 50
    id_chars: int = 128
    values: int = 50_000
    light: int = 0
    """Follows from the others: a text of at most so many bytes can be over no limit but that of depth."""

    def __post_init__(self) -> None:
        force_setattr(self, "light", min(self.keys, self.values, _DIGITS))


def flaw_of(params: bytes, limits: Limits) -> str:
    """What is wrong with the text of `params` before they are decoded, or nothing."""
    if not params:
        return ""
    if params[:1] not in (b"{", b"["):
        return "params must be an object or an array"
    size, counted, bare = len(params), params, None
    if size > _LIGHT:
        bare = without_strings(params)
        # Before the counts: an estimate over its budget needs no exact one, which decodes.
        if found := heavy(params, bare=bare):
            return f"the text of params {found}"
        counted = params if bare is None else bare
    brackets = counted.count(b"{") + counted.count(b"[")
    if (
        (size <= limits.keys or counted.count(b":") <= limits.keys)
        # A value beside another one takes two bytes at least.
        and (size <= limits.values or counted.count(b",") + brackets < limits.values)
        and (size <= _DIGITS or counted.translate(_NINES).find(_TOO_MANY) < 0)
        and (brackets <= limits.depth or _is_shallow(counted, limits.depth))
    ):
        return ""
    if size > DECODED_BYTES:  # to count exactly takes seconds
        return f"params of more than {DECODED_BYTES} bytes have too many commas, colons, brackets or digits"
    if size > _LIGHT and (certain := _certainly(params, bare, limits)):
        return certain
    return _measure(params, limits)


def _certainly(params: bytes, bare: bytes | None, limits: Limits) -> str:
    """Which limit a JSON text is over for certain, as searches say: the exact count makes all that it counts, 25 ms of a mebibyte. A quote
    that is not escaped begins or ends a string, and of two strings one at least is a value. Outside of strings a colon is a key's, and a comma
    stands between two values."""
    strings = (params.count(b'"') - params.count(b'\\"')) // 2
    if strings // 2 > limits.values:
        return _over(0, 0, strings // 2, limits)
    bare = without_strings(params, strings) if bare is None else bare
    return "" if bare is None else _over(0, bare.count(b":"), bare.count(b","), limits)


def _is_shallow(params: bytes, most: int) -> bool:
    """Whether a JSON text is certainly nested no deeper than `most` levels: the innermost brackets are taken out, level by level, several at
    once where they stand in each other like that everywhere. Too many levels may be counted, too few never."""
    bare = without_strings(params)
    if bare is None:
        return False
    left, levels = bare.translate(_FLAT, _NO_BRACKETS), 0
    for _ in range(_PASSES):
        if not left or levels > most:
            break
        chains = left.replace(_CHAINED, b"")
        levels += _CHAIN if len(chains) < len(left) else 1
        left = chains if len(chains) < len(left) else left.replace(b"[]", b"")
    return not left and levels <= most


def _measure(params: bytes, limits: Limits) -> str:
    collecting = len(params) > limits.values and gc.isenabled()
    if collecting:
        gc.disable()  # which would look through all that is made here, again and again
    try:
        return _counted([_plain.decode(params)], limits)
    except _BROKEN as problem:
        return f"params cannot be read: {problem}"
    finally:
        if collecting:
            gc.enable()


def _counted(level: list[Any], limits: Limits) -> str:
    depth = keys = values = 0
    while level:
        depth += 1
        values += len(level)
        if values > limits.values:
            break
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                keys += len(value)
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind is int and not -_LARGEST < value < _LARGEST:
                return f"params have an integer of more than {_DIGITS} digits"
        flaw = _over(depth, keys, values, limits)
        if flaw:
            return flaw
        level = below
    return _over(depth, keys, values, limits)


def _over(depth: int, keys: int, values: int, limits: Limits) -> str:
    if depth > limits.depth + 1:
        return f"params are nested deeper than {limits.depth} levels"
    if keys > limits.keys:
        return f"params have more than {limits.keys} keys"
    if values > limits.values:
        return f"params have more than {limits.values} values, those in lists counted"
    return ""

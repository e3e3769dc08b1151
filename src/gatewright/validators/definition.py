"""What a tool says of itself, as one number: whoever agreed to it agreed to this definition and to no other.

The digest is taken over the whole definition, every member, in a canonical form in the manner of RFC 8785: members
sorted, no white space, one spelling for each string and each number. Two texts of one meaning have one digest;
other than RFC 8785, integers and decimals of any size keep their exact value.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Any

import msgspec

from gatewright.wire import jsonrpc

__all__ = ["canonical", "canonical_definition", "definition_digest"]

_LONGEST_INTEGER = 400
"""Digits; numbers beyond are written with an exponent, so that `1e999999999` stays nine characters."""
_DEEPEST = 256
"""Levels. A bound of our own: how deep Python gets depends on who asks, and so would the answer."""

_sorting = msgspec.json.Encoder(order="deterministic")


def canonical(value: Any) -> bytes:
    """One text for a JSON value, as `wire.jsonrpc.decode` makes it. Raises `ValueError` where it nests too deep, or has a
    number of thousands of digits."""
    return _sorting.encode(_plain(value, _DEEPEST))


def definition_digest(definition: Mapping[str, msgspec.Raw]) -> str:
    """SHA-256, in hex, of a definition that is given member by member. Raises `ValueError` where one cannot be read."""
    return canonical_definition(definition)[1]


def canonical_definition(definition: Mapping[str, msgspec.Raw]) -> tuple[str, str, dict[str, Any]]:
    """A definition in its canonical form, the digest of that, and its members decoded. Raises `ValueError`."""
    members = {name: jsonrpc.decode(text) for name, text in definition.items()}
    text = canonical(members)
    return text.decode(), sha256(text).hexdigest(), members


def _plain(value: Any, deep: int) -> Any:
    """The value with one spelling for each number; it may go so many levels `deep`."""
    if not deep and isinstance(value, dict | list):
        raise ValueError("the value is nested too deep to be compared")
    if isinstance(value, dict):
        return {name: _plain(one, deep - 1) for name, one in value.items()}
    if isinstance(value, list):
        return [_plain(one, deep - 1) for one in value]
    return _number(value) if isinstance(value, float) else value


def _number(value: float) -> Any:
    """A whole number as an integer, anything else without zeros at its end."""
    text = value.text if isinstance(value, jsonrpc.Num) else repr(value)
    try:
        exact = Decimal(text)
        sign, digits, exponent = exact.as_tuple()
    except (InvalidOperation, ValueError):
        return msgspec.Raw(text.encode())
    if not isinstance(exponent, int) or not any(digits):
        return 0
    while digits[-1] == 0:
        digits, exponent = digits[:-1], exponent + 1
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    if 0 <= exponent <= _LONGEST_INTEGER:
        return int(whole * 10**exponent)
    return msgspec.Raw(f"{whole}e{exponent}".encode())

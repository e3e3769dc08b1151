"""Canonical JSON (RFC 8785, but exact numbers) and SHA-256 digest of a tool definition, in steps; caches digests of large ones.

The digest is taken over the whole definition, every member, in a canonical form in the manner of RFC 8785: members
sorted, no white space, one spelling for each string and each number. Two texts of one meaning have one digest;
other than RFC 8785, integers and decimals of any size keep their exact value.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from hashlib import sha256
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.transport.slices import whole

__all__ = [
    "canonical",
    "canonical_definition",
    "canonical_steps",
    "definition_digest",
    "digest_steps",
]

_LONGEST_INTEGER = 400
"""Zeros at the end; numbers with more are written with an exponent, so that `1e999999999` stays nine characters."""
_MOST_DIGITS = 4300
"""Python's own bound for integers in text."""
_ORDINARY_POWER = 15
"""Digits of an exponent that every `Decimal` can have."""
_DEEPEST = 256
"""Levels. A bound of our own: how deep Python gets depends on who asks, and so would the answer."""
_STEP = 256
"""Values. A step takes less than a millisecond."""
_WORTH_KEEPING = 4096
_KEPT = 1024

_sorting = msgspec.json.Encoder(order="deterministic")
_digests: OrderedDict[bytes, str] = OrderedDict()
"""Of large definitions, by the digest of their texts as they came: each call may ask for the same one again."""


def canonical(value: Any) -> bytes:
    """One text for a JSON value, as `mcp.wire.jsonrpc.decode` makes it. Raises `ValueError` where it nests too deep, or has a
    number of thousands of digits. Linear."""
    return whole(canonical_steps(value))


def canonical_steps(value: Any) -> Generator[None, None, bytes]:
    """The same, some hundred values a step."""
    plain = yield from _plain(value)
    # Decimals are raw text by now, so the encoder rounds none.
    return _sorting.encode(plain)


def definition_digest(definition: Mapping[str, msgspec.Raw]) -> str:
    """SHA-256, in hex, of a definition that is given member by member. Raises `ValueError` where one cannot be read."""
    return whole(digest_steps(definition))


def digest_steps(definition: Mapping[str, msgspec.Raw]) -> Generator[None, None, str]:
    """The same, member by member and some hundred values a step. Of a large definition it is found once."""
    if sum(len(bytes(text)) for text in definition.values()) < _WORTH_KEEPING:
        return canonical_definition(definition)[1]
    key = _as_it_came(definition)
    found = _digests.get(key)
    if found is None:
        members = {}
        for name, text in definition.items():
            members[name] = jsonrpc.decode(text)
            yield
        found = sha256((yield from canonical_steps(members))).hexdigest()
        _digests[key] = found
        if len(_digests) > _KEPT:
            _digests.popitem(last=False)
    return found


def canonical_definition(definition: Mapping[str, msgspec.Raw]) -> tuple[str, str, dict[str, Any]]:
    """A definition in its canonical form, the digest of that, and its members decoded. Raises `ValueError`."""
    members = {name: jsonrpc.decode(text) for name, text in definition.items()}
    text = canonical(members)
    return text.decode(), sha256(text).hexdigest(), members


def _as_it_came(definition: Mapping[str, msgspec.Raw]) -> bytes:
    said = sha256()
    for name, text in definition.items():
        for one in (name.encode(errors="surrogatepass"), bytes(text)):
            said.update(b"%d:" % len(one))
            said.update(one)
    return said.digest()


def _plain(value: Any) -> Generator[None, None, Any]:
    """The value with one spelling for each number."""
    whole: list[Any] = [None]
    open_: list[tuple[Iterator[tuple[Any, Any]], Any]] = [(iter([(0, value)]), whole)]
    count = 0
    while open_:
        items, made = open_[-1]
        for key, one in items:
            count += 1
            if not count % _STEP:
                yield
            if isinstance(one, dict | list):
                if len(open_) > _DEEPEST:
                    raise ValueError("the value is nested too deep to be compared")
                inner, below = _begun(one)
                made[key] = inner
                open_.append((below, inner))
                break
            made[key] = _number(one) if isinstance(one, float) else one
        else:
            open_.pop()
    return whole[0]


def _begun(value: dict[str, Any] | list[Any]) -> tuple[Any, Iterator[tuple[Any, Any]]]:
    """What a container becomes, and what is to be put into it."""
    if isinstance(value, dict):
        return {}, iter(value.items())
    return [None] * len(value), enumerate(value)


def _number(value: float) -> Any:
    """A whole number as an integer, anything else without zeros at its end. The work is in the text: what is done with digits
    as a number takes the square of them."""
    text = value.text if isinstance(value, jsonrpc.Num) else repr(value)
    mantissa, _, power = text.replace("E", "e").partition("e")
    shift = _shift(power, text)
    if shift is None:
        return msgspec.Raw(text.encode())
    sign = "-" if mantissa[0] == "-" else ""
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    digits = (whole + fraction).lstrip("0")
    if not digits:
        return 0
    kept = digits.rstrip("0")
    zeros = shift - len(fraction) + len(digits) - len(kept)
    written = zeros if 0 <= zeros <= _LONGEST_INTEGER else 0
    if len(kept) + written > _MOST_DIGITS:
        raise ValueError(f"a number has more than {_MOST_DIGITS} digits")
    if 0 <= zeros <= _LONGEST_INTEGER:
        return msgspec.Raw(f"{sign}{kept}{'0' * zeros}".encode())
    return msgspec.Raw(f"{sign}{kept}e{zeros}".encode())


def _shift(power: str, text: str) -> int | None:
    """What an exponent says; None where no `Decimal` can have it, and the number stays as it is written."""
    if not power:
        return 0
    digits = power.lstrip("+-").lstrip("0")
    if len(digits) > _ORDINARY_POWER:
        try:
            Decimal(text)
        except InvalidOperation:
            return None
    return -int(digits) if power[0] == "-" and digits else int(digits or 0)

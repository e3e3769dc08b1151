"""JSON codec for foreign text: refuses what is too costly to decode, keeps numbers exact, extracts members without decoding.

Theory: a decoder is one C call that nobody can interrupt, so its work has to be known beforehand. It goes with the number of
values and not with the bytes: a MiB of text takes half a millisecond, of `[],` fifty, of `1e1,` two hundred, because a
decimal that a `float` would spell differently is kept as it was written (`Num`). Commas, brackets, colons and digits before a
point or an `e` are counted by C searches; what stands inside strings is counted too where it is not taken out before, so the estimate
is never too low. Members and elements that stay texts are counted while they are found, and the decoder stops at the first one too many.

`decode_whole` alone counts nothing. It is for texts that were counted before, of this process or of a worker; the rule
`tests/house_rules/test_foreign_json.py` knows who may use it.
"""

from __future__ import annotations

import enum
import gc
from collections.abc import Callable, Generator
from contextvars import ContextVar
from functools import lru_cache
from typing import Any

import msgspec

__all__ = [
    "MOST_MEMBERS",
    "MOST_NS",
    "Num",
    "TooMuch",
    "check",
    "decode",
    "decode_members",
    "decode_whole",
    "elements",
    "encode",
    "entries",
    "first",
    "heavy",
    "members_named",
    "names",
    "without_strings",
]

MOST_MEMBERS = 10_000
"""Of one object whose members are read as texts, where it is longer than `_FEW_BYTES`."""
_SMALL = 8 * 1024
"""Bytes; a shorter text is decoded without a look: two milliseconds of decimals at most."""
_FEW_BYTES = 64 * 1024
"""The same where members or elements stay texts: two milliseconds as well."""
MOST_NS = 27_000_000
"""What one text may take, by the estimate, which is as a rule too high: enough for a MiB of rows of small objects, and for 50,000
decimals."""
_EACH = 25, 130, 100
"""Nanoseconds for a comma or a brace, an opening bracket, and a colon, whose key is made."""
_DECIMAL_NS = 250
_EXPONENT_NS = 1000
_LONG_DECIMAL_NS = 1000
"""Of more than nineteen digits, for which arithmetic of the processor does not do."""
_DIGIT_NS = 10
_LONG_DECIMAL = 40
"""Characters; further ones cost next to nothing."""
_ESCAPE_NS = 10
_LONG_NS = 22
"""A byte of integers of more than a thousand digits."""
_DIGITS = 1000
_STRIDE = 100
_FEW_STRINGS = 20_000
"""So many are taken out before what is outside of them is counted alone."""
_NINES = bytes.maketrans(b"012345678E", b"9" * 9 + b"e")
_NO_MARKS = bytes(sorted(set(range(256)) - set(b",[{:")))


class TooMuch(ValueError):  # noqa: N818 - what the text is
    """More would have to be made of a text than while everybody waits. The words follow what it is."""


class Num(float):
    """A JSON number whose text a plain `float` would not give back; `text` is that text."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Num:
        """The number that `text` spells."""
        self = float.__new__(cls, text)
        self.text = text
        return self


def _number(text: str) -> float:
    if (
        text[-1] == "0" and text[-2] != "."
    ):  # no float is spelled so, and to spell it takes the longest
        number = float.__new__(Num, text)
        number.text = text
        return number
    plain = float(text)
    # Encoding spells nearly all of them as `repr` does, in a fifth of the time.
    if encode(plain).decode() == text or repr(plain) == text:
        return plain
    number = float.__new__(Num, plain)
    number.text = text
    return number


def _spell(value: object) -> Any:
    if isinstance(value, Num):
        return msgspec.Raw(value.text.encode())
    raise TypeError(f"{type(value).__name__} has no JSON form")


_decoder = msgspec.json.Decoder(float_hook=_number)
_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_array = msgspec.json.Decoder(list[msgspec.Raw])
_any = msgspec.json.Decoder(msgspec.Raw)
_encoder = msgspec.json.Encoder(enc_hook=_spell)
encode = _encoder.encode
"""One line of JSON for a value made by `decode` or `decode_members`."""

_BROKEN = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

_Text = bytes | msgspec.Raw


# -- values


def decode(data: _Text) -> Any:
    """The value of a JSON text, numbers kept exactly. Raises `TooMuch`, and `ValueError` for what is no JSON."""
    if len(data) > _SMALL:
        return _judged(bytes(data))
    try:
        return _decoder.decode(data)
    except _BROKEN as problem:
        raise ValueError(str(problem)) from None


def decode_whole(data: _Text) -> Any:
    """The same of a text that was counted before, or is no stranger's, however much that is. Raises `ValueError`."""
    return _read(data) if len(data) <= _SMALL else _calmly(_read, bytes(data))


def heavy(data: bytes, most_ns: int = MOST_NS, bare: bytes | None = None) -> str:
    """Why a text would take longer than `most_ns` nanoseconds, for what follows its name; nothing where it would not, and for
    a short one. What this finds nothing in, `decode` takes. `bare` is the text `without_strings`, where that is known."""
    if len(data) <= _SMALL:
        return ""
    # A long text of few strings is mostly these: to take them out is one of the dozen searches through it.
    bare = without_strings(data) if bare is None and len(data) > _FEW_BYTES else bare
    if _estimate(data, data if bare is None else bare) <= most_ns:
        return ""
    bare = without_strings(data) if bare is None and len(data) <= _FEW_BYTES else None
    if bare is not None and _estimate(data, bare) <= most_ns:
        return ""
    return f"has more values than are read at once ({len(data)} bytes; decimals count for many)"


def check(data: _Text) -> None:
    """Raise `ValueError` for what is no JSON text. Nothing is made of it; whether its strings are UTF-8 is not looked at."""
    try:
        _any.decode(data)
    except _BROKEN as problem:
        raise ValueError(str(problem)) from None


def _read(data: _Text) -> Any:
    try:
        return _decoder.decode(data)
    except _BROKEN as problem:
        raise ValueError(str(problem)) from None


def _judged(text: bytes) -> Any:
    flaw = heavy(text)
    if flaw:
        raise TooMuch(flaw)
    return _calmly(_read, text)


def without_strings(text: bytes, most: int = _FEW_STRINGS) -> bytes | None:
    """The text without what its strings say; None where it has more than so many."""
    # Pairs of backslashes first: then one before a quote escapes it, and every quote that is left begins or ends a string.
    if text.find(b"\\") >= 0:
        text = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b'""'.join(text.split(b'"')[::2]) if text.count(b'"') <= 2 * most else None


def _estimate(text: bytes, counted: bytes) -> int:
    """About how many nanoseconds a text takes, and never less. `counted` has the same values."""
    marks = counted.translate(None, _NO_MARKS)
    spent = len(text) // 2 + len(marks) * _EACH[0]
    if spent > MOST_NS:
        return spent
    lists, colons = marks.count(b"["), marks.count(b":")
    spent += lists * (_EACH[1] - _EACH[0]) + colons * (_EACH[2] - _EACH[0])
    spent += text.count(b"\\") * _ESCAPE_NS
    values = len(marks) + 1
    if values * 2 * _EXPONENT_NS > MOST_NS // 16:
        spent += _of_decimals(counted, values)
    return spent + (len(counted) * _LONG_NS if _has_long(counted) else 0)


def _of_decimals(text: bytes, values: int) -> int:
    """How many nanoseconds the decimals of a text take that are not integers."""
    points, exponents = text.count(b"."), text.count(b"e") + text.count(b"E")
    if exponents * _EXPONENT_NS > MOST_NS // 16:  # prose is full of that letter
        spelled = text.translate(_NINES)
        points, exponents = spelled.count(b"9."), spelled.count(b"9e")
    points, exponents = min(values, points), min(values, exponents)
    long = min(values, text.translate(_NINES, b".").count(b"9" * 20))
    spent = points * _DECIMAL_NS + exponents * _EXPONENT_NS + long * _LONG_DECIMAL_NS
    return spent + min(len(text), (points + exponents) * _LONG_DECIMAL) * _DIGIT_NS


def _has_long(text: bytes) -> bool:
    """Whether a number of more than `_DIGITS` digits can stand in a text: some digits are then met in a row at each step of
    `_STRIDE`, and only such a text is looked through."""
    if text[::_STRIDE].translate(_NINES).find(b"9" * (_DIGITS // _STRIDE)) < 0:
        return False
    return text.translate(_NINES).find(b"9" * (_DIGITS + 1)) >= 0


def _calmly(read: Callable[[bytes], Any], text: bytes) -> Any:
    """What is read, without a look of the garbage collector through all that is made, again and again."""
    collecting = gc.isenabled()
    gc.disable()  # in the whole process, for as long as one decoder works
    try:
        return read(text)
    finally:
        if collecting:
            gc.enable()


# -- members and elements that stay texts


class _Count:
    """What is counted while a text is read: how many may still come, and the names that did where they are wanted."""

    __slots__ = ("left", "names")

    def __init__(self, left: int, names: list[str] | None = None) -> None:
        self.left = left
        self.names = names


_count: ContextVar[_Count] = ContextVar("count")
"""Of this thread: the decoder calls back without a word of ours."""


class _TooManyError(Exception):
    """Ends the decoder."""


class _Key(enum.Enum):
    """A key that is looked at as it is found: the decoder asks an enumeration for what it does not know."""

    NONE = "\0"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        count = _count.get()
        count.left -= 1
        if count.left < 0:
            raise _TooManyError
        if count.names is not None:
            count.names.append(str(value))
        return value  # msgspec takes it for the key, although it is no member (decision 0056)


class _Entry(msgspec.Struct, gc=False):
    """One object of a list, of which nothing is kept."""

    def __post_init__(self) -> None:
        count = _count.get()
        count.left -= 1
        if count.left < 0:
            raise _TooManyError


_keyed = msgspec.json.Decoder(dict[_Key, msgspec.Raw])
_entries = msgspec.json.Decoder(list[_Entry])


def decode_members(data: _Text, most: int = MOST_MEMBERS) -> dict[str, msgspec.Raw]:
    """The members of a JSON object, each still its own text. Raises `TooMuch` where it is long and has more than `most`,
    those that stand twice counted, and `ValueError` for what is no object."""
    if len(data) > _FEW_BYTES:
        return _keys(data, most, None)
    try:
        return _members.decode(data)
    except (*_BROKEN, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from None


def names(data: _Text, most: int) -> list[str]:
    """The names of the members of a JSON object, as often as they stand there. Raises like `decode_members`,
    whatever the length."""
    found: list[str] = []
    _keys(data, most, found)
    return found


def _keys(data: _Text, most: int, into: list[str] | None) -> dict[str, msgspec.Raw]:
    count = _Count(most, into)
    _count.set(count)
    try:
        found: dict[Any, msgspec.Raw] = _keyed.decode(data)
    except (*_BROKEN, msgspec.ValidationError, _TooManyError) as problem:
        if count.left < 0:
            raise TooMuch(f"has more than {most} members") from None
        raise ValueError(str(problem)) from None
    if _Key.NONE in found:
        if into is not None:
            into.append(_Key.NONE.value)
        return {key.value if key is _Key.NONE else key: one for key, one in found.items()}
    return found


def members_named(data: _Text, *wanted: str) -> dict[str, msgspec.Raw]:
    """Of a JSON object the members of these names, each its own text; what else it has is read over. Raises `ValueError`."""
    try:
        found = _of_names(wanted).decode(data)
    except (*_BROKEN, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from None
    texts = zip(wanted, msgspec.structs.astuple(found), strict=True)
    return {name: one for name, one in texts if one is not _NONE}


def elements(data: _Text, most: int) -> list[msgspec.Raw]:
    """The elements of a JSON array, each its own text. Raises `TooMuch` for more than `most` (up to 1000), `ValueError` for what
    is no array."""
    try:
        if len(data) > _FEW_BYTES:
            return [
                one
                for one in msgspec.structs.astuple(_up_to(most).decode(data))
                if one is not _NONE
            ]
        found = _array.decode(data)
    except (*_BROKEN, msgspec.ValidationError) as problem:
        if "at most length" in str(problem):  # msgspec has no type of error for it
            raise TooMuch(f"has more than {most} elements") from None
        raise ValueError(str(problem)) from None
    if len(found) > most:
        raise TooMuch(f"has more than {most} elements")
    return found


def entries(data: _Text, most: int) -> Generator[None, None, list[msgspec.Raw]]:
    """The same of an array of objects, of any number; in two steps, each of which goes through all of it."""
    try:
        yield
        _count.set(_Count(most))
        _entries.decode(data)
        yield
        return _array.decode(data)
    except _TooManyError:
        raise TooMuch(f"has more than {most} entries") from None
    except (*_BROKEN, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from None


def first(data: _Text) -> msgspec.Raw | None:
    """The first element of a JSON array, None where it is empty. Raises `ValueError` for what is no array."""
    try:
        (found,) = msgspec.structs.astuple(_up_to(1, whole=False).decode(data))
    except (*_BROKEN, msgspec.ValidationError) as problem:
        raise ValueError(str(problem)) from None
    return None if found is _NONE else found


_NONE = msgspec.Raw()


@lru_cache(maxsize=64)
def _of_names(wanted: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    fields = [(f"m{at}", msgspec.Raw, _NONE) for at in range(len(wanted))]
    spelled = {f"m{at}": name for at, name in enumerate(wanted)}
    return msgspec.json.Decoder(msgspec.defstruct("_Named", fields, rename=spelled, gc=False))


@lru_cache(maxsize=8)
def _up_to(most: int, *, whole: bool = True) -> msgspec.json.Decoder[Any]:
    """Reads an array of `most` elements at most; `whole`: a further one is an error, and is else read over."""
    fields = [(f"e{at}", msgspec.Raw, _NONE) for at in range(most)]
    return msgspec.json.Decoder(
        msgspec.defstruct("_UpTo", fields, array_like=True, forbid_unknown_fields=whole, gc=False)
    )

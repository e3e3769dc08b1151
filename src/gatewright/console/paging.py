"""Keyset pagination that `Table` (`lists`) uses: one sorted page of many rows, in slices; encodes and reads `after`; query strings of lists."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlencode

import msgspec

from gatewright.console.operations import ApiError
from gatewright.mcp.wire import jsonrpc

__all__ = ["Key", "Slice", "key_of", "page_of", "read_after", "text_of", "url_of", "usual_of"]

log = logging.getLogger("gatewright.console")

T = TypeVar("T")
Part = int | float | str
Key = tuple[Part, str]
"""What is sorted by, and what tells two apart that are alike in it."""
_A_STEP = 256
_CHARS, _DIGEST_CHARS = 120, 32
"""A text of a key that is longer is known by its beginning and a digest: what a list hands out has to fit into a URL."""
_LARGEST = 1e15
"""Of a number: what is larger, and what JSON does not know, stands at the end of its list."""


class Slice(NamedTuple):
    """One page. `rows` are of the kind that was paged."""

    rows: list[Any]
    next: str
    """`after` of the next page; empty where there is none."""
    total: int
    """Of all that fit."""


class _Best(Generic[T]):
    """The first rows behind a place, one more than a page has. Raises `TypeError` for a key of another type."""

    def __init__(self, last: Key | None, limit: int, *, descending: bool) -> None:
        self._last = last
        self._most = limit + 1
        self._descending = descending
        self._worst: Key | None = None
        """Once there are enough: what is behind it is on a later page."""
        self._rows: list[tuple[Key, T]] = []

    def add(self, place: Key, row: T) -> None:
        """Of those that fit, in any order."""
        if self._is_behind(self._last, place) and self._is_behind(place, self._worst):
            self._rows.append((place, row))
            if len(self._rows) >= 4 * self._most:
                self._worst = self.rows()[-1][0]

    def _is_behind(self, one: Key | None, other: Key | None) -> bool:
        if one is None or other is None:
            return True
        return one > other if self._descending else one < other

    def rows(self) -> list[tuple[Key, T]]:
        """Sorted."""
        self._rows.sort(key=lambda one: one[0], reverse=self._descending)
        del self._rows[self._most :]
        return self._rows


def page_of(
    items: Iterable[T],
    key: Callable[[T], Key],
    *,
    after: str = "",
    limit: int = 50,
    descending: bool = False,
    fits: Callable[[T], bool] = lambda one: True,
) -> Generator[None, None, Slice]:
    """One page of those that fit, in steps (`transport.slices`), with a bounded number of them in hand. Raises `ApiError`."""
    best: _Best[T] = _Best(key_of(after), limit, descending=descending)
    total = 0
    try:
        for number, one in enumerate(items):
            if number % _A_STEP == 0:
                yield
            if fits(one):
                total += 1
                best.add(_short(key(one)), one)
        rows = best.rows()
    except TypeError:  # a number where this list is sorted by words, or the other way round
        raise _other() from None
    if len({place for place, _ in rows}) < len(rows):
        said = "rows of a list cannot be told apart, so that a page of it may miss some: %r"
        log.error(said, rows[0][0])
    more = text_of(rows[limit - 1][0]) if len(rows) > limit else ""
    return Slice([one for _, one in rows[:limit]], more, total)


def text_of(key: Key) -> str:
    """The `after` of a key whose texts are short."""
    return msgspec.json.encode(key).decode()


def key_of(after: str, kind: Any = Part) -> Key | None:
    """The key of an `after`, sorted by this type; None where it is empty. Raises `ApiError`."""
    return read_after(after, tuple[kind, str]) if after else None


def read_after(after: str, kind: Any) -> Any:
    """An `after` of this type. Raises `ApiError`."""
    try:
        found = jsonrpc.decode(after.encode())
        if isinstance(
            found, list
        ):  # numbers remember how they were spelled, which makes them something else
            found = [float(one) if isinstance(one, float) else one for one in found]
        return msgspec.convert(found, kind)
    except (ValueError, msgspec.ValidationError):
        raise _other() from None


def _short(key: Key) -> Key:
    """The key as an `after` can say it. All of a list are compared so."""
    by, ident = key
    if isinstance(by, str):
        by = _shortened(by)
    else:
        by = _LARGEST if math.isnan(by) else max(-_LARGEST, min(by, _LARGEST))
    return by, _shortened(ident)


def _shortened(text: str) -> str:
    if len(text) <= _CHARS and text.isascii():
        return text
    raw = text.encode("utf-8", "surrogatepass")
    begin = text[:_CHARS].encode("utf-8", "replace").decode()
    return text if begin == text else begin + sha256(raw).hexdigest()[:_DIGEST_CHARS]


def _other() -> ApiError:
    return ApiError(
        422, "invalid", "`after` is none that this list gave out", "begin without `after`"
    )


@lru_cache(maxsize=256)
def usual_of(asked: type[msgspec.Struct]) -> Mapping[str, Any]:
    """What its members are unless it is said: a page asks for it many times, and to look at a shape takes long."""
    return {one.name: one.default for one in msgspec.structs.fields(asked)}


def url_of(path: str, asked: msgspec.Struct, **changes: Any) -> str:
    """The URL of a list as it was asked for, with some of that changed; what is as usual is left out."""
    said = {**msgspec.structs.asdict(asked), **changes}
    usual = usual_of(type(asked))
    query = urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in said.items()
            if name not in usual or value != usual[name]
        }
    )
    return f"{path}?{query}" if query else path

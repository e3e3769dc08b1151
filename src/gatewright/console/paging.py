"""Pages of sorted lists by key: the next page begins behind the last key of this one (`after`), so nothing moves; and the URLs of lists."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec

from gatewright.console.operations import ApiError
from gatewright.mcp.wire import jsonrpc

__all__ = ["Key", "page_of", "url_of"]

T = TypeVar("T")
Key = tuple[int | float | str, str]
"""What is sorted by, and what tells two apart that are alike in it."""
_A_STEP = 256


def page_of(
    items: Iterable[T],
    key: Callable[[T], Key],
    *,
    after: str = "",
    limit: int = 50,
    descending: bool = False,
) -> Generator[None, None, tuple[list[T], str]]:
    """One page in steps (`transport.slices`), and the `after` of the next one, empty where there is none. Raises `ApiError`."""
    last = _read(after)
    found: list[tuple[Key, int, T]] = []
    try:
        for number, one in enumerate(items):
            if number % _A_STEP == 0:
                yield
            place = key(one)
            if last is None or (place < last if descending else place > last):
                found.append((place, number, one))
    except TypeError:  # a number where this list is sorted by words, or the other way round
        raise _other() from None
    best = heapq.nlargest if descending else heapq.nsmallest
    page = best(limit + 1, found, key=lambda one: one[0])
    more = len(page) > limit
    page = page[:limit]
    text = msgspec.json.encode(page[-1][0]).decode() if more else ""
    return [one for _, _, one in page], text


def _read(after: str) -> Key | None:
    if not after:
        return None
    try:
        found = msgspec.convert(jsonrpc.decode(after.encode()), tuple[int | float | str, str])
    except (ValueError, msgspec.ValidationError):
        raise _other() from None
    return (found[0], found[1])


def _other() -> ApiError:
    return ApiError(
        422, "invalid", "`after` is none that this list gave out", "begin without `after`"
    )


def url_of(path: str, asked: msgspec.Struct, **changes: Any) -> str:
    """The URL of a list as it was asked for, with some of that changed; what is as usual is left out."""
    said = {**msgspec.structs.asdict(asked), **changes}
    usual = {one.name: one.default for one in msgspec.structs.fields(asked)}
    query = urlencode(
        {
            name: str(value).lower() if isinstance(value, bool) else value
            for name, value in said.items()
            if name not in usual or value != usual[name]
        }
    )
    return f"{path}?{query}" if query else path

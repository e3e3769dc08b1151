"""Caches of functions of texts; long texts are never kept: `cached_if_short` (one text), `cached_if_all_short`, `AllShort` (several).

A cache is bounded in entries. Keyed by what strangers write, each of them could be as long as a message may be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

__all__ = ["ALL_LONGEST", "LONGEST", "AllShort", "cached_if_all_short", "cached_if_short"]

LONGEST = 256
"""Characters, or bytes, of what is kept."""

ALL_LONGEST = 1024
"""Characters of all texts together."""

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def cached_if_short(most: int) -> Callable[[F], F]:
    """Remember the last `most` answers to short texts. The text, a `str`, `bytes` or None, is the first argument; the others may be
    anything small that can be a key."""

    def around(make: F) -> F:
        kept = lru_cache(most)(make)

        @wraps(make)
        def found(text: str | bytes | None, *args: Any, **kwargs: Any) -> Any:
            if text is not None and len(text) > LONGEST:
                return make(text, *args, **kwargs)
            return kept(text, *args, **kwargs)

        return cast("F", found)

    return around


class AllShort(dict[tuple[Any, ...], T]):
    """What `make` answers to several texts, each time with `kept[texts]`; kept by their length together. What else it is given is small."""

    def __init__(self, make: Callable[..., T], most: int) -> None:
        """At most so many answers."""
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, args: tuple[Any, ...]) -> T:
        # Looked up before anything is measured: what is there was short.
        answer = self._make(*args)
        if sum([len(one) for one in args if isinstance(one, str)]) <= ALL_LONGEST:
            if len(self) >= self._most:
                del self[next(iter(self))]  # the oldest
            self[args] = answer
        return answer


def cached_if_all_short(most: int) -> Callable[[F], F]:
    """The same as a function."""

    def around(make: F) -> F:
        kept = AllShort(make, most)

        @wraps(make)
        def found(*args: Any) -> Any:
            return kept[args]

        return cast("F", found)

    return around

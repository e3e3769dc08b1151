"""Bounded caches over functions of texts that keep no long ones: `cached_if_short` of one text, `cached_if_all_short` of several.

A cache is bounded in entries. Keyed by what strangers write, each of them could be as long as a message may be.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

__all__ = ["ALL_LONGEST", "LONGEST", "cached_if_all_short", "cached_if_short"]

LONGEST = 256
"""Characters, or bytes, of what is kept."""

ALL_LONGEST = 1024
"""Characters of all texts together."""

F = TypeVar("F", bound=Callable[..., Any])


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


def cached_if_all_short(most: int) -> Callable[[F], F]:
    """The same of a function of several texts, by their length together; what else it is given is small."""

    def around(make: F) -> F:
        kept: dict[tuple[Any, ...], Any] = {}

        def made(args: tuple[Any, ...]) -> Any:
            answer = make(*args)
            if sum([len(one) for one in args if isinstance(one, str)]) <= ALL_LONGEST:
                if len(kept) >= most:
                    del kept[next(iter(kept))]  # the oldest
                kept[args] = answer
            return answer

        @wraps(make)
        def found(*args: Any) -> Any:
            # Looked up before anything is measured: what is there was short. None is no answer of what is kept here, but would only be made anew.
            answer = kept.get(args)
            return made(args) if answer is None else answer

        return cast("F", found)

    return around

"""Buffers random bytes from the operating system, because every call needs several ids and each system call is slow."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

__all__ = ["Pool"]

_POOL_BYTES = 4096
_SLICE_BYTES = 64
"""Whoever asks for more asks rarely, and is given what comes from the source."""


class Pool:
    """Called with a number, returns so many bytes fit for secrets. Any thread may call it; nothing is
    given out twice."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        # By length, cut already; at most what one question to the source brought, for each thread that asked it.
        self._slices: dict[int, list[bytes]] = {}

    def __call__(self, count: int) -> bytes:
        """`count` fresh random bytes."""
        try:
            return self._slices[count].pop()  # one step, in which no other thread can be
        except (KeyError, IndexError):
            return self._fresh(count)

    def _fresh(self, count: int) -> bytes:
        if not 0 < count <= _SLICE_BYTES:
            return self._source(count)
        found: list[bytes] = re.findall(rb"(?s).{%d}" % count, self._source(_POOL_BYTES))
        given = found.pop()
        self._slices.setdefault(count, []).extend(found)
        return given

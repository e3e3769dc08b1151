"""Random bytes from a pool that is filled rarely: each question to the operating system costs as much
as the rest of a gate, and every call needs several ids."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

__all__ = ["Pool"]

_POOL_BYTES = 4096


class Pool:
    """Called with a number, returns so many bytes fit for secrets. Any thread may call it; nothing is
    given out twice."""

    def __init__(self, source: Callable[[int], bytes] = os.urandom) -> None:
        self._source = source
        self._lock = threading.Lock()
        self._bytes = b""
        self._size = 0
        self._at = 0

    def __call__(self, count: int) -> bytes:
        """`count` fresh random bytes."""
        with self._lock:
            end = self._at + count
            if end > self._size:
                self._bytes = self._source(max(_POOL_BYTES, count))
                self._size = len(self._bytes)
                end = count
            self._at = end
            return self._bytes[end - count : end]

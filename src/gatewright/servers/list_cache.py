"""`ListCache`: encoded results of list methods by key; drops the oldest above a number of texts or bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

__all__ = ["BYTES", "TEXTS", "ListCache"]

TEXTS = 64
"""So many texts are kept, the latest."""
BYTES = 64 * 1024 * 1024
"""So many bytes they have together: one server may list 32 MiB, and each set of things that somebody may see has a text."""


class ListCache:
    """What was made of something is `put` under that, and need not be made again as long as `get` finds it."""

    def __init__(self) -> None:
        self._texts: OrderedDict[Hashable, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> bytes | None:
        """The text; None where it is not kept."""
        return self._texts.get(key)

    def put(self, key: Hashable, text: bytes) -> None:
        """Keep a text, unless it is longer than all of them may be."""
        if len(text) > BYTES:
            return
        self._bytes += len(text) - len(self._texts.pop(key, b""))
        self._texts[key] = text
        while len(self._texts) > TEXTS or self._bytes > BYTES:
            self._bytes -= len(self._texts.popitem(last=False)[1])

    def clear(self) -> None:
        """Keep nothing of it."""
        self._texts.clear()
        self._bytes = 0

    def copy(self) -> ListCache:
        """Another one with the same texts."""
        made = ListCache()
        made._texts, made._bytes = self._texts.copy(), self._bytes
        return made

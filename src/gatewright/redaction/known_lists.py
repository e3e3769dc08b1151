"""`KnownLists`: cache of redacted list results, shared by callers; bounded in number and bytes, emptied when a new secret is known.

A changed list is another entry, and its former text is of no use any more. So no more of them are kept than in so many bytes,
the latest used first; the one that is used now is kept whatever its size.
"""

from __future__ import annotations

from collections import OrderedDict

__all__ = ["KEPT", "KEPT_BYTES", "KnownLists"]

KEPT = 64
KEPT_BYTES = 32 * 1024 * 1024
"""Of all texts that are kept, those that were cleaned and what came of them."""


class KnownLists:
    """Of one time: whenever more is `known` to be secret, all of it is forgotten."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._lists: OrderedDict[bytes, bytes | None] = OrderedDict()
        """By what came; None where nothing was found."""
        self._known = -1
        self._bytes = 0

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return self._bytes

    def clean(self, raw: bytes, known: int) -> bytes | None:
        """A list as it was cleaned when no less was known; None where that has to be done. `raw` itself where nothing was found."""
        if known != self._known:
            self._lists.clear()
            self._known, self._bytes = known, 0
        if raw not in self._lists:
            return None
        self._lists.move_to_end(raw)
        return self._lists[raw] or raw

    def keep(self, raw: bytes, clean: bytes, known: int) -> None:
        """Keep a list that was cleaned of what was `known`, unless other lists are kept by now."""
        # Cleaned beside the loop: a secret that became known meanwhile was not looked for.
        if known != self._known or raw in self._lists:
            return
        found = None if clean is raw or clean == raw else clean
        self._lists[raw] = found
        self._bytes += _size(raw, found)
        while len(self._lists) > KEPT or (self._bytes > self._kept_bytes and len(self._lists) > 1):
            self._bytes -= _size(*self._lists.popitem(last=False))


def _size(raw: bytes, clean: bytes | None) -> int:
    return len(raw) + len(clean or b"")

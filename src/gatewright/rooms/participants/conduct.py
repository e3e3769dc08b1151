"""`Conduct`: counts malformed messages per sender, says when they are many, and ignores the sender at a limit (MCPx §4.3)."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Conduct"]


class Conduct:
    """How often each sender sent what nobody may act upon (MCPx §4.3). The counts are this participant's own."""

    _SENDERS = 10_000

    def __init__(self, *, ignored_at: int | None = None) -> None:
        """Who reaches `ignored_at` is not listened to any more; None: everybody always is."""
        self.counts: dict[str, int] = {}
        """Participant → how many of its messages said nothing."""
        self._ignored_at = ignored_at

    def count(self, sender: str, tell: Callable[[str, int], None]) -> None:
        """One more of `sender`. `tell` is called for the first, the tenth, the hundredth and so on."""
        if sender not in self.counts and len(self.counts) >= self._SENDERS:
            return
        count = self.counts[sender] = self.counts.get(sender, 0) + 1
        if count == 10 ** (len(str(count)) - 1):
            tell(sender, count)

    def is_ignored(self, sender: str) -> bool:
        """Whether nothing that it says is acted upon."""
        return self._ignored_at is not None and self.counts.get(sender, 0) >= self._ignored_at

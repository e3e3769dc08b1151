"""Exceptions of room participants, and `Conduct`: counts each sender's malformed messages, and ignores the sender at a limit (MCPx §4.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = [
    "AnswerTimeoutError",
    "CallError",
    "Conduct",
    "GoneError",
    "NotAllowedError",
    "NotFulfillableError",
    "RoomError",
    "RoomRefusedError",
]


class RoomError(Exception):
    """Whatever a participant's own doing came to, other than what was wanted."""


class NotAllowedError(RoomError):
    """This participant's capabilities do not cover a kind. Nothing was sent."""

    def __init__(self, kind: str, capabilities: tuple[str, ...]) -> None:
        super().__init__(
            f"your capabilities ({', '.join(capabilities) or 'none'}) do not cover {kind!r}; "
            "propose it instead, or ask an administrator of the room"
        )
        self.kind = kind


class RoomRefusedError(RoomError):
    """The gateway refused a message. `error` is one of `capability_violation`, `rate_limited` and so on."""

    def __init__(self, error: str, message: str) -> None:
        super().__init__(f"{error}: {message}")
        self.error = error


class CallError(RoomError):
    """Another participant answered with a JSON-RPC error."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.data = data


class AnswerTimeoutError(RoomError):
    """Nobody answered in time."""


class GoneError(RoomError):
    """The place in the room is lost."""


class NotFulfillableError(RoomError):
    """A proposal that cannot be fulfilled: unknown, decided, withdrawn or expired."""


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

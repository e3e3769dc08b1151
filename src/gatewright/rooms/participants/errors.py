"""Exceptions of room participants: refused or not allowed, answered with an error, answered too late, place lost, not fulfillable."""

from __future__ import annotations

from typing import Any

__all__ = [
    "AnswerTimeoutError",
    "CallError",
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

"""What can go wrong between us and an HTTP upstream, and what is known then about whether the server acted."""

from __future__ import annotations

__all__ = [
    "AnswerTooLarge",
    "BadAnswer",
    "CannotReach",
    "ConnectionBroken",
    "TimedOut",
    "UpstreamError",
]


class UpstreamError(Exception):
    """No usable answer; what happened is the name of the subclass. `not_sent`: True surely not sent, False perhaps sent, None almost surely not."""

    def __init__(self, message: str, *, not_sent: bool | None = False) -> None:
        super().__init__(message)
        self.not_sent = not_sent


class CannotReach(UpstreamError):  # noqa: N818
    """There is no connection to the server, so nothing was sent."""


class ConnectionBroken(UpstreamError):  # noqa: N818
    """The connection was lost before the answer was whole."""


class TimedOut(UpstreamError):  # noqa: N818
    """The answer was not whole in time."""


class AnswerTooLarge(UpstreamError):  # noqa: N818
    """The answer, or one event of it, is longer than the limit."""


class BadAnswer(UpstreamError):  # noqa: N818
    """What came back is not HTTP, or not what its headers say."""

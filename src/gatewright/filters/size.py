"""How large may an answer be? A result over the limit is not passed on, and says so.

The transport bounds what a server may send in one frame; this bounds what a caller may receive,
whatever the answer came from.
"""

from __future__ import annotations

from gatewright.call import Answer, Call, Event, Failure, Outcome

__all__ = ["Size"]


class Size:
    """Filter `size`."""

    name = "size"

    def __init__(self, limit: int) -> None:
        """`limit` is bytes of a result's JSON text."""
        self._limit = limit

    def outcome(self, call: Call, outcome: Outcome) -> Outcome:
        """The outcome, or a failure in place of an answer that is too large."""
        if type(outcome) is not Answer or len(outcome.raw) <= self._limit:
            return outcome
        return Failure(
            "output_invalid",
            f"the result has {len(outcome.raw)} bytes, and at most {self._limit} are passed on; "
            "ask the tool for less",
            {"limit_bytes": self._limit, "bytes": len(outcome.raw)},
        )

    def event(self, call: Call, event: Event) -> Event | None:
        """Events are bounded by the frames they come in."""
        return event

"""`PlainProgress`: sends MCP `notifications/progress` to clients without MGP; `token_of`, `number_of`, `fraction_of` read their params."""

from __future__ import annotations

import math
from typing import Any

from gatewright.call import Back, Call, Event, Question

__all__ = ["MCP_PROGRESS", "PROGRESS", "PlainProgress", "fraction_of", "number_of", "token_of"]

PROGRESS = "notifications/mgp.stream.progress"
MCP_PROGRESS = "notifications/progress"


def token_of(call: Call) -> Any:
    """The caller's own progress token; None where it has none."""
    meta = call.params.get("_meta")
    return meta.get("progressToken") if type(meta) is dict else None


class PlainProgress:
    """The way back to a client without MGP that wants to hear of progress: it hears it in MCP's words."""

    def __init__(self, back: Back) -> None:
        self._back = back
        self._last = 0.0

    def emit(self, event: Event) -> None:
        """Send one event on, translated where it is MGP's progress."""
        if event.method == PROGRESS:
            self._last = max(self._last, fraction_of(event.params.get("progress")))
            said = {"progress": self._last, "total": 1}
            message = event.params.get("message")
            event = Event(MCP_PROGRESS, {**said, "message": message} if message else said)
        self._back.emit(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller. Raises `CannotAsk`."""
        return await self._back.ask(question)


def number_of(value: Any) -> float:
    """A finite number that is not negative; anything else is 0."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    try:
        found = float(value)
    except OverflowError:
        return 0.0
    return found if math.isfinite(found) and found > 0 else 0.0


def fraction_of(value: Any) -> float:
    """A number between 0 and 1; 0 for what is no number, 1 for what is more."""
    return min(1.0, number_of(value))

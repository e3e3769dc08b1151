"""`refused_by`: reads the error with which a client answers a question of a server (elicitation, sampling, roots) as `CannotAsk`."""

from __future__ import annotations

from typing import Any

from gatewright.call import CannotAsk

__all__ = ["refused_by"]


def refused_by(error: Any) -> CannotAsk:
    """What an error says with which a client answered a question. It is a client's, so nothing in it is of a type for certain."""
    if not isinstance(error, dict):
        return CannotAsk("the caller refused", -32603)
    code = error.get("code")
    return CannotAsk(
        str(error.get("message", "the caller refused")),
        code if isinstance(code, int) else -32603,
        error.get("data"),
    )

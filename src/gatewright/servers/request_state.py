"""Prefixes `requestState` with its server's id and origin (`input_required`, MCP 2026-07-28); an answer with another prefix is refused.

A state is sealed for one caller and one request, but whose a URI or a prompt is can change between two rounds: a list changes,
or the configuration does, also what stands behind an id (`origin`). What one server remembers, and what a person answered it, is no
other server's.
"""

from __future__ import annotations

from typing import Any

from gatewright.call import Refusal
from gatewright.mcp.wire.versions import INTERRUPTIBLE

__all__ = ["STATE", "bound", "returned"]

STATE = "requestState"
_ELSEWHERE = Refusal(
    "invalid_params",
    "requestState was given out by another server than the one that this request leads to now; send the request anew without it",
    {"sent": False},
)


def bound(server: str, state: str | None) -> str:
    """The state under the name of its server, which has no slash in it; the name alone where the server gave none."""
    return server if state is None else f"{server}/{state}"


def returned(server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | Refusal:
    """Params that may bring a state back, as the server is to see them; or why they do not go there."""
    if method not in INTERRUPTIBLE or params.get(STATE) is None:
        return params
    # Ids of servers have no slash, so what stands before the first one is the server's whole id.
    whose, slash, state = str(params[STATE]).partition("/")
    if whose != server:
        return _ELSEWHERE
    rest = {name: one for name, one in params.items() if name != STATE}
    return {**rest, STATE: state} if slash else rest

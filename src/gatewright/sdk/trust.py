"""`TrustGateway` of the SDK: holds the trust state, promotes it stepwise or resets it; refuses destructive tools unless TRUSTED.

Three states; only TRUSTED lets a destructive tool through. Promotion goes one step at a time and each step is
asked for, so that nothing becomes trusted by one slip; a reset goes straight back. The question is put where calls
are dispatched and never inside a tool: a tool that checks nothing is gated like any other.
"""

from __future__ import annotations

import enum
import threading
from collections.abc import Callable

from gatewright.sdk.errors import AccessError
from gatewright.sdk.tool import Tool

__all__ = ["TrustGateway", "TrustState"]


class TrustState(enum.IntEnum):
    """How far this process, or this caller, is trusted."""

    UNTRUSTED = 0
    VERIFIED = 2
    TRUSTED = 3


_ORDER = tuple(TrustState)

Listener = Callable[[TrustState, TrustState], None]


class TrustGateway:
    """The state, and who may pass. Safe to use from several threads."""

    def __init__(
        self, state: TrustState = TrustState.UNTRUSTED, *, on_change: Listener | None = None
    ) -> None:
        """`on_change` is told the former and the new state, for the record."""
        self._state = state
        self._on_change = on_change
        self._lock = threading.Lock()

    @property
    def state(self) -> TrustState:
        """The present state."""
        return self._state

    def promote(self) -> TrustState:
        """One step up: UNTRUSTED, VERIFIED, TRUSTED. Returns the new state; the last one stays."""
        # Two threads that promote at once are two steps.
        with self._lock:
            index = min(_ORDER.index(self._state) + 1, len(_ORDER) - 1)
            return self._to(_ORDER[index])

    def reset(self) -> TrustState:
        """Back to UNTRUSTED at once."""
        with self._lock:
            return self._to(TrustState.UNTRUSTED)

    def admit(self, tool: Tool) -> None:
        """Raise `AccessError` where the tool is destructive and the state is not TRUSTED."""
        if tool.destructive and self._state is not TrustState.TRUSTED:
            raise AccessError(
                f"{tool.name} is destructive and the trust gateway is {self._state.name}",
                reason="destructive_gate",
                details={"tool_name": tool.name, "trust_state": self._state.name},
                advice="Promote the trust gateway to TRUSTED, or use a tool that changes nothing",
            )

    def _to(self, state: TrustState) -> TrustState:
        former, self._state = self._state, state
        if self._on_change is not None and former is not state:
            self._on_change(former, state)
        return state

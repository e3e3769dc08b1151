"""The console's screens, in the order of the navigation: one module, one folder of templates, one browser test each."""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.console.dependencies import Dependencies
from gatewright.console.screen import Screen
from gatewright.console.screens.inbox import Inbox
from gatewright.console.screens.live import Live
from gatewright.console.screens.sessions import Sessions

__all__ = ["made"]


def made(parts: Dependencies) -> Sequence[Screen]:
    """One of each."""
    return (Inbox(parts), Live(parts), Sessions(parts))

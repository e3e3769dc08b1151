"""`Dependencies`: what each console screen is constructed with: gateway, newest audit records, sessions, change feed, token counts."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gatewright.console.changes import Changes
from gatewright.console.kernel_calls import KernelCalls
from gatewright.console.recent import Recent
from gatewright.console.sessions import ConsoleSessions
from gatewright.console.traffic import Traffic
from gatewright.console.whole_texts import WholeTexts
from gatewright.discovery.lookup import Lookup
from gatewright.feature import GatewayParts, Ground

__all__ = ["Dependencies"]


class Dependencies(msgspec.Struct, frozen=True, kw_only=True):
    """Complete once the gateway serves."""

    ground: Ground
    """`ground.before` are the gateway's other features: `ground.of` finds what they offer."""
    gateway: GatewayParts
    recent: Recent
    """The newest records."""
    traffic: Traffic
    """How many calls ended when."""
    sessions: ConsoleSessions
    changes: Changes
    calls: KernelCalls
    """Makes calls as a person."""
    lookup: Lookup
    """Counts the tokens of tools, and remembers them."""
    clock: Callable[[], float]
    """Unix seconds."""
    texts: WholeTexts
    """What is longer than a page, by pages."""

"""The console's screens, in the order of the navigation: one module, one folder of templates, one browser test each."""

from __future__ import annotations

import time
from collections.abc import Sequence

from gatewright.access.authority import Authority
from gatewright.approvals.queue import ApprovalQueue
from gatewright.audit.offload import BlockReader, verify_beside
from gatewright.audit.search import AuditSearch
from gatewright.console.audit_filling import AuditFilling
from gatewright.console.audit_threads import AuditThreads
from gatewright.console.audit_verifying import Verifying
from gatewright.console.dependencies import Dependencies
from gatewright.console.screen import Screen
from gatewright.console.screens.access import Access
from gatewright.console.screens.audit import Audit
from gatewright.console.screens.connect import Connect
from gatewright.console.screens.health import Health
from gatewright.console.screens.inbox import Inbox
from gatewright.console.screens.limits import Limits
from gatewright.console.screens.live import Live
from gatewright.console.screens.rooms import Rooms
from gatewright.console.screens.servers import Servers
from gatewright.console.screens.sessions import Sessions
from gatewright.console.screens.tools import Tools

__all__ = ["made"]


def made(parts: Dependencies) -> Sequence[Screen]:
    """One of each; what a feature offers that is not part of this gateway has none."""
    folder = parts.ground.settings.storage.path
    search = AuditSearch(folder, time.monotonic)
    threads = AuditThreads()
    filling = AuditFilling(search, threads, lambda: BlockReader(folder))
    verifying = Verifying(
        lambda: verify_beside(folder),
        parts.clock,
        lambda: parts.changes.tell("health", "audit"),
    )
    authority, queue = parts.ground.of(Authority), parts.ground.of(ApprovalQueue)
    return (
        *(() if queue is None else (Inbox(parts),)),
        Live(parts),
        Sessions(parts),
        Servers(parts),
        Tools(parts),
        *(() if authority is None else (Access(parts, authority),)),
        Rooms(parts),
        Audit(parts, search, threads, filling, verifying),
        Limits(parts, search, threads, filling),
        Connect(parts),
        Health(parts, verifying),
    )

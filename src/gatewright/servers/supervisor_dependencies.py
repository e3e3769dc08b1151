"""`ServerSide`: what the gateway gives its `Supervisor`: local servers, own tools, tool and permission checks, redaction, task storage."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import msgspec

from gatewright.call import Tool
from gatewright.servers.gateway_url_check import Ours
from gatewright.servers.local import LocalServer
from gatewright.servers.mgp_extensions import EXTENSIONS
from gatewright.servers.notifications import Clean, as_said
from gatewright.servers.permission_admission import Permits
from gatewright.servers.reserved_names import Reserved
from gatewright.servers.server_callbacks import no_look
from gatewright.servers.states import Change
from gatewright.servers.task_owners import NOWHERE, Keep

__all__ = ["NOTHING", "ServerSide"]


class ServerSide(msgspec.Struct, frozen=True, kw_only=True):
    """Given to the supervisor when it is made (`Supervisor`). What changes with the configuration are methods of objects that
    hold the present one. All of it is called on the event loop."""

    extensions: Sequence[str] = EXTENSIONS
    """What of MGP servers are offered, where their entries say that they speak it."""
    local: Sequence[LocalServer] = ()
    """Servers of this process, which no configuration can replace."""
    looks: Callable[[str, Sequence[Tool]], Awaitable[None]] = no_look
    """Looks at the tools of a server, by its id, before they are shown to anybody. May take its time."""
    shelved: Callable[[str, Sequence[Tool]], None] = lambda *_: None
    """Hears of the tools of each server that lists others than before."""
    reserved: Reserved | None = None
    """What the tools of all servers are called, whether they are there or not; None where nothing was kept."""
    permits: Permits | None = None
    """Who decides what servers may have; None: they may have everything."""
    clean: Clean = as_said
    """Takes out of what a server says outside any call what must not travel."""
    leads_here: Ours = lambda _: False
    """Whether a URL leads to the gateway itself: no server may send a person there."""
    opened: Callable[[str], bool] = lambda _: True
    """Whether a session has not ended: nothing is made for one that has."""
    changed: Callable[[Change], None] = lambda _: None
    """Hears of each transition of a server of the fleet."""
    replaced: Callable[[Change], None] = lambda _: None
    """Hears that another connection serves in place of a server's former one."""
    ended: Callable[[str], object] = lambda _: None
    """Hears of each session that is over."""
    keep: Keep = NOWHERE
    """Where tasks that servers made are remembered beyond this process."""


NOTHING = ServerSide()

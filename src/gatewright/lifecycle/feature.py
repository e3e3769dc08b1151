"""`LifecycleFeature`: methods of MGP §11, gate `draining`, and notifications of transitions; offers the extension `lifecycle`."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from gatewright.audit.records import Actor
from gatewright.call import Call
from gatewright.config import Settings
from gatewright.feature import Around, Feature, Ground, Inside, Rules
from gatewright.lifecycle.gate import GatewayDrain
from gatewright.lifecycle.methods import PING, SHUTDOWN, STATUS, LifecycleMethods, Own
from gatewright.lifecycle.transitions import Transitions
from gatewright.servers.dispatch import Builtin
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["LifecycleFeature"]


class LifecycleFeature(Feature):
    """What clients have heard, and whether the gateway drains, outlive every configuration."""

    name = "lifecycle"
    extensions = ("lifecycle",)
    open_methods = (PING, STATUS, SHUTDOWN)

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self._drain = GatewayDrain()
        self._transitions = Transitions(time.time)

    def side(self, side: ServerSide) -> ServerSide:
        """Hear of transitions."""
        told = self._transitions
        return replace(side, changed=told.changed, replaced=told.replaced)

    def around(self, servers: Supervisor) -> Around:
        """Tell clients of them."""
        self._transitions.by(servers.hub)
        return Around()

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Health and shutdown."""
        ground = self._ground
        own = Own(
            name=lambda: ground.now.settings.gateway.name,
            recorded=lambda: ground.audit.fault is None,
            acted=self._acted,
            clock=time.time,
            monotonic=time.monotonic,
            stop=_end_process,
        )
        parts = inside.servers, inside.kernel, inside.administration
        return LifecycleMethods(own, *parts, self._drain, self._transitions).all

    def rules(self, settings: Settings) -> Rules:
        """The gate."""
        return Rules(gates={"draining": lambda _: self._drain})

    def adopt(self, settings: Settings) -> None:
        """Which servers there are."""
        self._transitions.keep({one.id for one in settings.servers})

    async def close(self) -> None:
        """The gateway ends."""
        self._drain.close()

    def _acted(self, call: Call, event: str, details: dict[str, Any]) -> None:
        caller = call.caller
        actor = Actor(type=caller.kind, id=caller.id, key_id=caller.key_id)
        self._ground.audit.event(event, actor=actor, details=details, trace_id=call.trace_id)


def _end_process() -> None:
    """As if the process were told to end from outside (`app/signals.py`)."""
    os.kill(os.getpid(), signal.SIGTERM)

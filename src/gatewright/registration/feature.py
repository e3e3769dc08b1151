"""`RegistrationFeature`: adds registered servers to each configuration; serves `mgp/discovery/register`, `deregister`; restores servers."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping

from gatewright.call import Call
from gatewright.config import Settings
from gatewright.feature import Feature, GatewayParts, Ground, Inside, Serving
from gatewright.registration.methods import RegisteredServers, Registration
from gatewright.registration.registered import Registered
from gatewright.registration.rules import needs_script
from gatewright.registration.script import check_places, with_script
from gatewright.registration.store import KeptServers
from gatewright.servers.dispatch import Builtin
from gatewright.transport.isolation.rules import file_name
from gatewright.transport.isolation.user_ids import forget_user

__all__ = ["RegistrationFeature"]

log = logging.getLogger("gatewright.registration")

_LOOK_S = 0.5
"""How often sessions are looked at, with which servers end."""


class RegistrationFeature(Feature):
    """Servers that are registered while the gateway runs."""

    name = "registration"

    def __init__(self, ground: Ground) -> None:
        self._now = ground.now
        self._workers = ground.workers
        kept = KeptServers(ground.database, forgotten=self._forget)
        self._state = ground.settings.storage.path
        self._fleet = RegisteredServers(kept, ground.audit)
        self._registration: Registration | None = None

    def _forget(self, server: str) -> None:
        """Of an id that nobody has, nothing is kept that isolated it. Its server may be there yet, and end later."""
        if server not in self._fleet.present:
            forget_user(self._state, file_name(server))

    def extend(self, settings: Settings) -> Settings:
        """With what is registered now."""
        return self._fleet.extend(settings)

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """MGP's two."""

        async def judged(one: Registered, call: Call, settings: Settings) -> Registered:
            if needs_script(one, settings.registration.commands):
                return await with_script(one, call, settings, self._workers)
            if not one.by_operator:
                await check_places(one, settings)
            return one

        found = self._registration = Registration(
            self._fleet,
            inside.servers,
            settings=lambda: self._now.settings,
            going_on=inside.going_on,
            judged=judged,
            stopped=inside.administration.is_stopped,
            clock=time.time,
        )
        return {
            "mgp/discovery/register": found.register,
            "mgp/discovery/deregister": found.deregister,
        }

    def serve(self, parts: GatewayParts) -> Serving:
        """In the background: what is there from before, and what ends with its session."""
        found, owners = self._registration, parts.front.owners
        if found is None:
            return Serving()

        async def follow() -> None:
            try:
                await found.restore()
            except Exception:  # the configured servers serve all the same
                log.exception("registered servers could not be started")
            while True:
                await asyncio.sleep(_LOOK_S)
                try:
                    await found.end_with_sessions(owners.__contains__)
                except Exception:  # the next look tries again
                    log.exception("a registered server could not be ended with its session")

        return Serving(work=(follow,))

    def adopt(self, settings: Settings) -> None:
        """Forget what is configured by now."""
        self._fleet.adopt(settings)

    async def close(self) -> None:
        """End what waits."""
        if self._registration is not None:
            self._registration.close()

"""`RoomsFeature`: sets up rooms (MCPx) where `[rooms]` is configured: hub, WebSocket endpoint, participants' handles as credentials."""

from __future__ import annotations

import os
import time

from gatewright.config.rooms import Rooms
from gatewright.feature import Feature, GatewayParts, Ground, Serving
from gatewright.identity.gate import Keys
from gatewright.identity.key_lookup import FreshKeys
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.endpoint import RoomsEndpoint
from gatewright.rooms.hub import Hub
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.setup import Seated, hub_of, rooms_of
from gatewright.rooms.trust_store import ParticipantChanges

__all__ = ["RoomsFeature"]


class RoomsFeature(Feature):
    """Without the table there are no rooms. Offers the hub, and what operators do to participants."""

    name = "rooms"

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        rooms = ground.settings.rooms
        self._rooms = None if rooms is None else _Rooms(ground, rooms)
        if self._rooms is not None:
            self.offers = (self._rooms.hub, self._rooms.admin)

    @property
    def hub(self) -> Hub | None:
        """All rooms, where there are any."""
        return None if self._rooms is None else self._rooms.hub

    def keys(self, keys: Keys) -> Keys:
        """Participants are callers for as long as they are there."""
        return keys if self._rooms is None else self._rooms.callers(keys)

    def serve(self, parts: GatewayParts) -> Serving:
        """The endpoint; the gateway's own participants sit there from now on."""
        rooms, ground = self._rooms, self._ground
        if rooms is None:
            return Serving()
        door = rooms.endpoint(parts)
        return Serving(
            routes=door.routes,
            urls=lambda base: {"rooms": f"ws{base.removeprefix('http')}/ws"},
            looks=(lambda: door.look(ground.callers.loads, time.time()),),
        )


class _Rooms:
    """Those of one configuration, from before anybody is there."""

    def __init__(self, ground: Ground, rooms: Rooms) -> None:
        self._ground = ground
        self._said = rooms
        self._secret = os.urandom(32).hex()
        self._trust = ParticipantChanges(ground.database)
        self.hub = hub_of(rooms, ground.audit, self._trust)
        self.admin = ParticipantAdmin(self.hub, self._trust)

    def callers(self, keys: Keys) -> RoomCallers:
        """Participants, and those whom `keys` know."""
        return RoomCallers(keys, self._secret, self.hub)

    def endpoint(self, parts: GatewayParts) -> RoomsEndpoint:
        """The way in."""
        ground, callers = self._ground, self.callers(FreshKeys(self._ground.callers))
        rehearse = parts.inside.kernel.rehearse
        seated = Seated(parts.front, ground.audit, callers, rehearse, self.hub, self._trust)
        return rooms_of(self._said, seated, ground.settings.storage.path)

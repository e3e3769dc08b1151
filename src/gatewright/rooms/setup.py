"""Builds the rooms from settings and keys: the hub, the endpoint for participants and operators, the gateway's own participants."""

from __future__ import annotations

import logging
import os
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from gatewright.audit.trail import AuditLog
from gatewright.call import Caller, Refusal
from gatewright.config.rooms import Rooms, RoomsTable
from gatewright.mcp.server.server_context import ServerContext
from gatewright.rooms.admin_endpoint import RoomsAdmin
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.endpoint import RoomsEndpoint
from gatewright.rooms.gateway_participant import GatewayParticipant, Rehearse
from gatewright.rooms.hub import Hub, NoPlace
from gatewright.rooms.identities import Identities
from gatewright.rooms.in_process import Inside
from gatewright.rooms.journal import RoomJournal
from gatewright.rooms.orchestrator_seat import orchestrator_in
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.policy import Verifier
from gatewright.rooms.policy_settings import policy_of
from gatewright.rooms.trust_store import ParticipantChanges

__all__ = ["Seated", "hub_of", "rooms_of", "stamp"]

log = logging.getLogger("gatewright.rooms")


class Seated(msgspec.Struct, frozen=True):
    """What the parts of the gateway that sit in rooms need of it."""

    front: ServerContext
    audit: AuditLog
    callers: RoomCallers
    rehearse: Rehearse
    hub: Hub
    trust: ParticipantChanges


def hub_of(rooms: Rooms, audit: AuditLog, trust: ParticipantChanges) -> Hub:
    """The hub, without anybody yet; `trust` is what operators have said of participants."""
    return Hub(
        policy_of(rooms),
        journal=RoomJournal(audit, time.monotonic),
        stamp=stamp,
        trust=trust,
        monotonic=time.monotonic,
    )


def rooms_of(rooms: Rooms, house: Seated, state: Path) -> RoomsEndpoint:
    """The door to the rooms. The gateway's own participants sit there from the start; `state` is the folder of their rules.

    Raises `StoreError` where the rules of an orchestrator cannot be read."""
    hub = house.hub
    identities = Identities(
        hub.policy,
        keys=lambda token: house.front.identify("websocket", token),
        random=os.urandom,
        signed=_signed(rooms),
    )
    for seat in _seats(rooms.table, hub, house, state):
        try:
            seat.sit()
        except NoPlace as no:  # an operator keeps it out, for example: everything else goes on
            log.warning("%s does not sit in %s: %s", seat.name, seat.topic, no)

    def identify(door: str, token: str | None) -> Caller | Refusal:
        return house.front.identify(door, token)  # another one after each reload

    admin = RoomsAdmin(hub, ParticipantAdmin(hub, house.trust), identify)
    return RoomsEndpoint(hub, identities, admin)


def _seats(table: RoomsTable, hub: Hub, house: Seated, state: Path) -> Iterator[Inside]:
    """`state` is the folder in which the rules of orchestrators are kept."""
    if table.kernel is not None:
        for topic in table.kernel.topics:
            kernel = GatewayParticipant(
                house.front,
                hub,
                house.callers,
                house.rehearse,
                topic=topic,
                name=table.kernel.name,
                profile=table.kernel.profile,
            )
            yield kernel.seat
    if table.orchestrator is not None:
        for topic in table.orchestrator.topics:
            yield orchestrator_in(hub, table.orchestrator, topic, house.audit, state)


def _signed(rooms: Rooms) -> Verifier | None:
    jwt = rooms.table.jwt
    if jwt is None:
        return None
    from gatewright.config.signing_keys import read_key  # noqa: PLC0415 - see its docstring
    from gatewright.rooms.signed_tokens import Signed  # noqa: PLC0415

    key = read_key(rooms.jwt_key, jwt.algorithms)
    return Signed(key, jwt.algorithms, clock=time.time, issuer=jwt.issuer, audience=jwt.audience)


def stamp() -> tuple[str, str]:
    """A fresh id and the time, for a message of the gateway."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return str(uuid.uuid4()), now.removesuffix("+00:00") + "Z"

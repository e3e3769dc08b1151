"""Interfaces of the room hub: `Seat` (receives a participant's messages), `Journal` (audit) and `Seated` (state of a connection)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from gatewright.mcpx.batches import Batch
from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.topic import Member, No

__all__ = ["Journal", "Seat", "Seated", "seated"]


class Seat(Protocol):
    """What takes the messages of one participant."""

    def deliver(self, batch: Batch) -> None:
        """Take some messages. Their texts are `batch.messages[…].text`, and for a transport `batch.frames`."""

    def close(self, code: int, reason: str) -> None:
        """Learn that the place is gone: replaced by a newer one, taken away, or the gateway stops. Codes are those
        of WebSocket (RFC 6455 §7.4)."""


class Journal(Protocol):
    """What the record is told. Its methods raise `Unrecorded`; content is never given."""

    @property
    def fault(self) -> str | None:
        """Why nothing can be recorded at present; None when all is well."""

    def joined(self, topic: str, member: Member, way: str) -> None:
        """Somebody comes in."""

    def left(self, topic: str, member: Member, why: str) -> None:
        """Somebody is gone."""

    def passed(self, topic: str, envelope: Envelope) -> None:
        """A message is about to be passed on."""

    def refused(self, topic: str, member: Member, no: No) -> None:
        """A message is not passed on."""

    def changed(
        self,
        participant: str,
        what: str,
        old: Sequence[str],
        new: Sequence[str],
        by: str,
        reason: str,
    ) -> None:
        """What an operator is about to do to a participant: `changed`, `blocked` or `unblocked`."""


class Seated(msgspec.Struct, frozen=True):
    """The state of one connection, all there is of it (MCPx §10.1)."""

    connectionId: str  # noqa: N815 - the names of the specification
    participantId: str  # noqa: N815
    capabilities: tuple[str, ...]
    connectedAt: str  # noqa: N815
    topic: str
    mode: str
    echo: bool


def seated(member: Member, topic: str) -> Seated:
    """The connection of somebody in a topic."""
    can = member.capabilities.patterns
    return Seated(
        member.connection, member.id, can, member.since, topic, member.wanted, member.echo
    )

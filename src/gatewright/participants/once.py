"""Deduplicates requests in a room: a repeated message is not carried out again, nor a proposal that was fulfilled.

Whoever lost a connection says a message again, and two people may fulfil a proposal in the same moment. What was proposed is
one operation, so whoever comes second is told who was first; a message that is said again is answered by its first answer, and by an error once that is given.
"""

from __future__ import annotations

from hashlib import sha256

from gatewright.participants.proposals import Ledger
from gatewright.protocol.room_payload import Requested
from gatewright.wire.mcpx import Envelope

__all__ = ["HARMLESS", "HEARD", "Once"]

HARMLESS = frozenset(
    {
        "initialize",
        "ping",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
    }
)
"""Methods that change nothing."""
HEARD = "this message was heard before, and its first answer counts: nothing is done again; what is new needs another id"

_EACH = 256
"""So many requests of one sender are remembered, and so many senders."""


class Once:
    """What one participant was asked for."""

    def __init__(self, proposals: Ledger) -> None:
        self._proposals = proposals
        self._said: dict[str, dict[str, bytes]] = {}
        """Sender → ids of its envelopes with the digests of their requests, the last ones."""

    def is_new(self, envelope: Envelope, request: Requested) -> bool:
        """Whether this message was not heard before. An id that stands for another request now is another message. What
        changes nothing is always new, unless it is about something that others said."""
        about = envelope.correlation_id
        if request.ident is None or (about is None and request.operation.method in HARMLESS):
            return True
        ids = self._said.pop(envelope.sender, {})
        self._said[envelope.sender] = ids
        if len(self._said) > _EACH:
            del self._said[next(iter(self._said))]
        digest = sha256(f"{[*envelope.to]!r}{about!r}".encode() + request.frame).digest()
        if ids.get(envelope.id) == digest:
            return False
        ids[envelope.id] = digest
        if len(ids) > _EACH:
            del ids[next(iter(ids))]
        return True

    def flaw(self, envelope: Envelope, request: Requested) -> str:
        """Why a request that names a proposal is not carried out; empty where it may be. Asked before the request itself
        is noted as what fulfils it."""
        found = self._proposals.find(envelope.correlation_id)
        if found is None or found.operation != request.operation or self._proposals.is_open(found):
            return ""
        by = f" by {found.decided_by}" if found.decided_by else ""
        return f"the proposal is {found.state}{by}: nothing is carried out for it now; ask for a new one"

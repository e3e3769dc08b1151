"""`Once`: detects repeats of a sender's request, so that none runs twice; refuses one that differs from its proposal or is too late.

A client that lost its connection sends a message again, and two people may fulfil a proposal in the same moment. What was proposed is
one operation, so whoever comes second is told who was first; a message that is said again is answered by its first answer, and by an error once that is given.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import msgspec

from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.payload import Requested
from gatewright.rooms.participants.proposals import Ledger

__all__ = ["ANOTHER", "ELSEWHERE", "HARMLESS", "HEARD", "Once"]

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

ANOTHER = "the proposal that this names is for something else: ask for what was proposed, or leave out correlation_id"

ELSEWHERE = "the proposal that this names was not put to whom you ask: ask those it was put to, by name, or leave out correlation_id"

_EACH = 256
"""So many requests of one sender are remembered, and so many senders."""


class Once:
    """What one participant was asked for."""

    def __init__(self, proposals: Ledger, there: Callable[[str], bool] = lambda _: True) -> None:
        """`there` says whether somebody is in the room."""
        self._proposals = proposals
        self._there = there
        self._said: dict[str, dict[bytes, None]] = {}
        """Sender → digests of its requests with the ids of their envelopes, the last ones."""

    def is_new(self, envelope: Envelope, request: Requested) -> bool:
        """Whether this message was not heard before. An id that stands for another request now is another message. What
        changes nothing is always new, unless it is about something that others said."""
        about = envelope.correlation_id
        if request.ident is None or (about is None and request.operation.method in HARMLESS):
            return True
        heard = self._said.pop(envelope.sender, {})
        # To the end: who was silent longest is forgotten first, and before all others those who are not there: one who comes under
        # many names, one after the other, makes nobody forgotten who could say something again.
        self._said[envelope.sender] = heard
        if len(self._said) > _EACH:
            away = (
                name for name in self._said if not self._there(name) and name != envelope.sender
            )
            del self._said[next(away, next(iter(self._said)))]
        digest = _digest(envelope, request)
        if digest in heard:
            return False
        heard[digest] = None
        if len(heard) > _EACH:
            del heard[next(iter(heard))]
        return True

    def flaw(self, envelope: Envelope, request: Requested) -> str:
        """Why a request that names a proposal is not carried out; empty where it may be. Asked before the request itself
        is noted as what fulfils it."""
        found = self._proposals.find(envelope.correlation_id)
        if found is None:
            return ""
        if found.operation.essence != request.operation.essence:
            harmless = request.operation.method in HARMLESS
            return "" if harmless else ANOTHER
        if not found.may_do(envelope.to, envelope.sender):
            return ELSEWHERE
        if self._proposals.is_open(found):
            return ""
        by = f" by {found.decided_by}" if found.decided_by else ""
        return f"the proposal is {found.state}{by}: nothing is carried out for it now; ask for a new one"


def _digest(envelope: Envelope, request: Requested) -> bytes:
    """Of what a message asks for, however it is written: members in another order are no other request."""
    said = (
        envelope.id,
        sorted(envelope.to),
        envelope.correlation_id,
        request.ident,
        *request.operation.essence,
    )
    return sha256(msgspec.json.encode(said, order="deterministic")).digest()

"""Changes participants' capabilities and block state at run time (MCPx §5.1, §9.2, §11.3): audited, stored, then applied.

A change holds from the next message on, and is told to those concerned by a new welcome.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gatewright.mcpx.capabilities import flaw_of
from gatewright.mcpx.envelope import is_participant_id
from gatewright.rooms.hub import Hub
from gatewright.rooms.policy import with_word
from gatewright.rooms.trust_store import ParticipantChanges, Word

__all__ = ["Changed", "ParticipantAdmin"]

MOST = 64
"""Capabilities that one participant may have."""
POLICY_VIOLATION = 1008


class Changed(msgspec.Struct, frozen=True):
    """What a change came to, in the words of MCPx §11.3."""

    participantId: str  # noqa: N815 - the names of the specification
    oldCapabilities: tuple[str, ...]  # noqa: N815
    newCapabilities: tuple[str, ...]  # noqa: N815
    modifiedBy: str  # noqa: N815
    modifiedAt: str  # noqa: N815


class ParticipantAdmin:
    """What an operator may do to participants. `by` is who does it, for the record."""

    def __init__(self, hub: Hub, trust: ParticipantChanges) -> None:
        self._hub = hub
        self._trust = trust

    def change(
        self,
        participant: str,
        add: Sequence[str],
        remove: Sequence[str],
        *,
        by: str,
        reason: str = "",
    ) -> Changed:
        """Give and take capabilities, in every topic. Raises `KeyError` where nobody knows the participant,
        `ValueError` for what cannot be, `Unrecorded` and `StoreError`; nothing has changed then."""
        before = self._base(participant)
        word = self._trust.word(participant) or Word()
        held = with_word(before, word)
        _check(add, remove, held)
        added = tuple(dict.fromkeys([*(one for one in word.added if one not in remove), *add]))
        removed = tuple(dict.fromkeys([*(one for one in word.removed if one not in add), *remove]))
        fresh = msgspec.structs.replace(word, added=added, removed=removed)
        new = with_word(before, fresh)
        if len(new) > MOST:
            raise ValueError(f"a participant has at most {MOST} capabilities; use wider patterns")
        at = self._say(participant, fresh, held, new, by, reason)
        for place in self._hub.places():
            if place.member.id == participant:
                self._hub.allow(place)
        return Changed(participant, held, new, by, at)

    def block(self, participant: str, blocked: bool, *, by: str, reason: str = "") -> int:
        """Put somebody out of every topic and keep them out, or let them come again. In how many places they
        were. Raises as `change` does; somebody whom nobody knows yet may be kept out too."""
        if not is_participant_id(participant):
            raise ValueError("nobody can be called so")
        word = self._trust.word(participant) or Word()
        fresh = msgspec.structs.replace(word, blocked=blocked)
        self._say(participant, fresh, (), (), by, reason)
        if not blocked:
            return 0
        return self._hub.remove(participant, reason or "put out by an operator", POLICY_VIOLATION)

    def _say(
        self,
        participant: str,
        word: Word,
        old: tuple[str, ...],
        new: tuple[str, ...],
        by: str,
        reason: str,
    ) -> str:
        _, at = self._hub.stamp()
        what = ("blocked" if word.blocked else "unblocked") if not old and not new else "changed"
        # The record first: what cannot be recorded does not hold.
        self._hub.journal.changed(participant, what, old, new, by, reason)
        self._trust.put(participant, msgspec.structs.replace(word, by=by, at=at, reason=reason))
        return at

    def check(self, participant: str) -> None:
        """Raises `KeyError` where nobody knows the participant."""
        self._base(participant)

    def _base(self, participant: str) -> tuple[str, ...]:
        """What somebody would have without any operator's word."""
        places = [one for one in self._hub.places() if one.member.id == participant]
        if places:
            return places[0].identity.capabilities
        policy = self._hub.policy
        known = policy.known.get(participant)
        if known is None and self._trust.word(participant) is None:
            raise KeyError(participant)
        if known is None or known.capabilities is None:
            return policy.default
        return known.capabilities


def _check(add: Sequence[str], remove: Sequence[str], held: Sequence[str]) -> None:
    for one in add:
        flaw = flaw_of(one)
        if flaw:
            raise ValueError(f"{one!r}: {flaw}")
    both = set(add) & set(remove)
    if both:
        raise ValueError(f"{min(both)!r} is to be added and removed")
    for one in remove:
        if one not in held:
            # Whoever takes away a part of what a wider pattern gives would believe that it is gone.
            has = ", ".join(held) or "nothing"
            raise ValueError(f"{one!r} is not among its capabilities, which are: {has}")

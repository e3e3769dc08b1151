"""A queue in which operators of tests vote by the key that they have."""

from __future__ import annotations

from typing import Any

from gatewright.approvals.request import Approval, Voter
from gatewright.approvals.store import Approvals
from gatewright.storage.state import StateDatabase
from tests.storage.parts import key_of

__all__ = ["Voting", "voter"]


def voter(state: StateDatabase, name: str) -> Voter:
    """Who votes under this name, by the latest key that it has."""
    return Voter(name, key_of(state, name))


class Voting(Approvals):
    """As `Approvals`. Who is a name alone votes by their latest key."""

    def approve(self, id: str, *, by: Voter | str, **more: Any) -> Approval:
        by = voter(self._rows.state, by) if isinstance(by, str) else by
        return super().approve(id, by=by, **more)

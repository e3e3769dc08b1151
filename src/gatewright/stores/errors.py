"""Why a store cannot be used. Every message says what the operator can do about it."""

from __future__ import annotations

from pathlib import Path

from gatewright.commands import to_type

__all__ = [
    "StoreBusyError",
    "StoreDamagedError",
    "StoreError",
    "StoreTooNewError",
    "damaged_trail",
]


class StoreError(Exception):
    """A store cannot be opened, read or written."""


class StoreBusyError(StoreError):
    """Another gateway holds the state folder."""


class StoreTooNewError(StoreError):
    """A newer Gatewright wrote this store; this one would not understand it."""


class StoreDamagedError(StoreError):
    """What is stored contradicts itself: records that were written are gone or changed."""


def damaged_trail(folder: Path, what: str) -> StoreDamagedError:
    """The error for an audit trail in `folder` that lost or changed a record; `what` says which."""
    return StoreDamagedError(
        f"the audit trail in {folder} is damaged: {what}. `{to_type('audit verify')}` names the first "
        "wrong place. To start a new trail, move audit* out of this folder, keep it as evidence, and run "
        f"`{to_type('audit accept')}`"
    )

"""Builds the `StoreDamagedError` for a damaged audit trail; the error classes are in `storage.errors`."""

from __future__ import annotations

from pathlib import Path

from gatewright.command_text import to_type
from gatewright.storage.errors import StoreDamagedError

__all__ = ["damaged_trail"]


def damaged_trail(folder: Path, what: str) -> StoreDamagedError:
    """The error for an audit trail in `folder` that lost or changed a record; `what` says which."""
    return StoreDamagedError(
        f"the audit trail in {folder} is damaged: {what}. `{to_type('audit verify')}` names the first "
        "wrong place. To start a new trail, move audit* out of this folder, keep it as evidence, and run "
        f"`{to_type('audit accept')}`"
    )

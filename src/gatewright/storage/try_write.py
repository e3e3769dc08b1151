"""`changed_aside`: runs statements on the state database in one transaction, waiting for neither lock nor disk; returns False on failure.

For small changes that the event loop has made in a thread: each call opens a connection of its own, so any thread may make it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gatewright.storage.engine import Driver
from gatewright.storage.sqlite import SQLITE

__all__ = ["changed_aside"]


def changed_aside(
    folder: Path, statements: Iterable[tuple[str, Sequence[Any]]], driver: Driver = SQLITE
) -> bool:
    """Run statements, all or none, in the state of a folder. False where it is written by somebody else just now, or cannot be: to be
    tried again."""
    try:
        # A connection for each time: it is made in whatever thread asks, and belongs to no other.
        with closing(driver.note(folder)) as engine, engine.transaction():
            for sql, parameters in statements:
                engine.execute(sql, parameters)
    except Exception:  # noqa: BLE001 - whatever it is, the next try finds it again
        return False
    return True

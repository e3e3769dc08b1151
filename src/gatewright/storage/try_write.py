"""Runs statements on the state database in one transaction, waiting for no lock, over a connection of its own or a last time over one.

For small changes that the event loop has made in a thread: `changed_aside` opens a connection each time, so any thread may make it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gatewright.storage.engine import Driver, Engine
from gatewright.storage.sqlite import SQLITE

__all__ = ["Statements", "changed_aside", "changed_last"]

Statements = Sequence[tuple[str, Sequence[Any]]]


def changed_aside(folder: Path, statements: Statements, driver: Driver = SQLITE) -> bool:
    """Run statements, all or none, in the state of a folder. False where it is written by somebody else just now, or cannot be: to be
    tried again."""
    try:
        # A connection for each time: it is made in whatever thread asks, and belongs to no other.
        with closing(driver.note(folder)) as engine:
            _run(engine, statements)
    except Exception:  # noqa: BLE001 - whatever it is, the next try finds it again
        return False
    return True


def changed_last(engine: Engine, statements: Statements) -> bool:
    """The same over a connection that nobody works with any more and that is closed next."""
    try:
        engine.wait_at_most(0)
        _run(engine, statements)
    except Exception:  # noqa: BLE001 - as above
        return False
    return True


def _run(engine: Engine, statements: Statements) -> None:
    with engine.transaction():
        for sql, parameters in statements:
            engine.execute(sql, parameters)

"""What tests of stores share: the state database of a folder, made where there is none, whoever holds the folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from gatewright.access.issued_grants import Issued
from gatewright.access.permissions import Permissions
from gatewright.approvals.store import Approvals
from gatewright.identity.keys import KeyStore
from gatewright.pins.store import Pins
from gatewright.storage.opening import _brought_up, _make, is_current
from gatewright.storage.sqlite import SQLITE
from gatewright.storage.state import StateDatabase

__all__ = [
    "NO_DATABASE",
    "key_of",
    "look",
    "nowhere",
    "only_read",
    "operated_state_in",
    "operators_in",
    "revoked_in",
    "state_in",
]

NO_DATABASE = b"this is no database, however long it may be" * 200
Store = TypeVar("Store", Issued, Pins, Permissions, Approvals)


def state_in(folder: Path) -> StateDatabase:
    """A connection of its own each time, as another process has one. Whoever opens connections in tests closes them."""
    if not is_current(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _brought_up(folder, lambda _: None, SQLITE).close()
    return StateDatabase(SQLITE.open(folder))


def operators_in(state: StateDatabase, *names: str) -> None:
    """Make keys of operators, good since ever, where they have none."""
    keys = KeyStore(state, clock=lambda: 0.0, random=os.urandom)
    for name in names:
        if not keys.held(name):
            keys.create(name, kind="operator", by="t")
    keys.close()


def key_of(state: StateDatabase, name: str) -> str:
    """The id of the latest key of this operator, of one in force where there is any; empty where they have none."""
    asked = "SELECT id FROM keys WHERE name = ? AND kind = 'operator' ORDER BY revoked IS NULL DESC, expires IS NULL DESC, created DESC"
    found = state.engine.execute(asked, (name,)).fetchone()
    return "" if found is None else str(found[0])


def revoked_in(state: StateDatabase, name: str, now: float) -> None:
    """Revoke every key of this operator, in that Unix second."""
    keys = KeyStore(state, clock=lambda: now, random=os.urandom)
    for key in keys.held(name):
        keys.revoke(key.id, by="t")
    keys.close()


def operated_state_in(folder: Path, *names: str) -> StateDatabase:
    """As `state_in`, with keys of these operators, of `olga` where none is named: only who has one says yes."""
    state = state_in(folder)
    operators_in(state, *(names or ("olga",)))
    return state


def nowhere() -> StateDatabase:
    """An empty state that takes nothing."""
    engine = SQLITE.memory()
    _make(engine)
    state = StateDatabase(engine)
    only_read(state)
    return state


def only_read(state: StateDatabase) -> None:
    """From now on nothing can be written through this connection."""
    state.engine.execute("PRAGMA query_only = ON")


def look(store: Store) -> Store:
    """The same store, once its state database has been looked at."""
    store._rows.look()
    return store

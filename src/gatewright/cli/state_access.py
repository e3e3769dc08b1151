"""Opens the state database for commands: to write (migrates; refused if older than its audit trail) or read unchanged; tells if it exists.

A command that writes brings a folder of a former version to the form of this one, as the gateway does when it starts, and never
while a gateway runs on it. One that only looks (`doctor`, `policy explain`, completion) reads a former form in memory and leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gatewright.storage.errors import StoreDamagedError, StoreError
from gatewright.storage.opening import StateView, open_state, view_state
from gatewright.storage.state import StateDatabase

__all__ = ["has_state", "opened", "seen"]


@contextmanager
def opened(folder: Path) -> Iterator[StateDatabase]:
    """For reading and writing; the folder is made where there is none. Raises `StoreError`, also where the state is behind its record:
    a command that wrote into an older copy would take steps upon it until nobody could tell it from the right one."""

    def check(found: StateView) -> None:
        # Only who writes pays for reading the record.
        from gatewright.audit.state_check import check_of  # noqa: PLC0415

        check_of(folder)(found)

    def current(found: StateView) -> None:
        try:
            check(found)
        except StoreDamagedError:
            raise
        except StoreError:
            return  # a record that cannot be read says nothing of the state, and keeps nobody from ending a key

    state = open_state(folder, check, current=current)
    try:
        yield state
    finally:
        state.close()


@contextmanager
def seen(folder: Path) -> Iterator[StateDatabase]:
    """As it is, for reading; empty where there is none. Raises `StoreError`, also where a part of it cannot be read."""
    found = view_state(folder)
    try:
        yield found.readable()
    finally:
        found.close()


def has_state(folder: Path) -> bool:
    """Whether anything was ever kept in a folder. Raises `StoreError`."""
    found = view_state(folder)
    found.close()
    return bool(found.names or found.problems)

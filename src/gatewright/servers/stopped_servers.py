"""`StoppedServers`: which tool servers an operator stopped, kept in the state database so that they stay stopped over a gateway restart."""

from __future__ import annotations

from collections.abc import Container, Iterator, MutableSet

import msgspec

from gatewright.command_text import to_type
from gatewright.servers.spec import ServerSpec
from gatewright.storage.documents import Documents
from gatewright.storage.state import StateDatabase

__all__ = ["StoppedServers", "word_of"]


class StoppedServers(MutableSet[str]):
    """Ids of servers, read once and written through. `add` and `discard` raise `StoreError`; what they were to do holds all the same
    until the gateway ends: a server that runs wild is stopped also where the disk is full."""

    def __init__(self, state: StateDatabase) -> None:
        """Raises `StoreError`."""
        self._documents = Documents(state.section("stopped", "the stopped servers"))
        self._ids = dict.fromkeys(self._documents.all())
        self._kept = set(self._ids)

    def __contains__(self, server: object) -> bool:
        return server in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, value: str) -> None:
        """An operator stopped it."""
        self._ids[value] = None
        if value not in self._kept:
            self._documents.put(value, "{}")
            self._kept.add(value)

    def discard(self, value: str) -> None:
        """An operator started it."""
        self._ids.pop(value, None)
        if value in self._kept:
            self._documents.replace(dict.fromkeys(self._ids, "{}"))
            self._kept = set(self._ids)


def word_of(spec: ServerSpec, stopped: Container[str]) -> ServerSpec:
    """What the configuration says of a server, with what the operator said since."""
    if spec.id not in stopped:
        return spec
    told = f"stopped by the operator; `{to_type('server start {}', spec.id)}` starts it"
    return msgspec.structs.replace(spec, stopped=True, problem=told)

"""`HostFiles`: interface by which the console lists this machine's MCP hosts, connects, disconnects, imports: preview, then apply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import msgspec

__all__ = [
    "CannotChange",
    "HostChange",
    "HostFiles",
    "HostState",
    "ImportPlan",
    "ImportSource",
    "ImportedServer",
    "OfferedHosts",
]


class CannotChange(Exception):  # noqa: N818 - a verdict on a file
    """Nothing was done. `message` says why, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class HostState(msgspec.Struct, frozen=True, kw_only=True):
    """One host that has a place on this machine."""

    id: str
    title: str
    file: str
    there: bool
    """Whether it has a file already."""
    connected: bool
    """Whether the gateway is an entry of it."""
    others: list[str]
    """Its other servers, by name, which do not go through the gateway."""
    problem: str = ""
    """Why its file cannot be read."""


class ImportedServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server that would be written into mgp.toml."""

    id: str
    action: str
    transport: str
    target: str
    secrets: list[str]
    """Names under which secrets of it move to the secret store."""


class HostChange(msgspec.Struct, frozen=True, kw_only=True):
    """What would be done, or was done, to a host's file."""

    host: str
    title: str
    file: str
    action: str
    """`created`, `changed`, `removed`, `unchanged`."""
    diff: str
    """Unified, secrets masked."""
    digest: str
    """Of file, text before and text after: who agrees names it."""
    remarks: list[str] = []
    backup: str = ""
    moves: list[ImportedServer] = []
    """Servers of the host that go behind the gateway with it: out of its file, into ours."""
    moves_to: str = ""
    """Our file, where any moves."""


class ImportPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What would be imported, or was."""

    source: str
    file: str
    servers: list[ImportedServer]
    remarks: list[str]
    digest: str


class ImportSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where servers are read from: exactly one of these is said."""

    host: str = ""
    path: str = ""
    """Of a file on this machine, absolute or below `~`."""
    text: str = ""
    """What such a file would have in it."""


class HostFiles(ABC):
    """Every method reads and writes files: in a thread. Each raises `CannotChange`."""

    @abstractmethod
    def hosts(self) -> list[HostState]:
        """Those that have a place on this machine."""

    @abstractmethod
    def connecting(self, host: str, *, take_over: bool = False) -> HostChange:
        """What connecting would do; with `take_over` its other servers are imported, and leave its file."""

    @abstractmethod
    def connect(self, host: str, digest: str, *, take_over: bool = False) -> HostChange:
        """Do exactly what was shown."""

    @abstractmethod
    def disconnecting(self, host: str) -> HostChange:
        """What undoing it would do."""

    @abstractmethod
    def disconnect(self, host: str, digest: str) -> HostChange:
        """Do exactly what was shown."""

    @abstractmethod
    def importing(self, source: ImportSource, only: Sequence[str] = ()) -> ImportPlan:
        """What importing servers would do; those named alone, where any is named."""

    @abstractmethod
    def bring_in(self, source: ImportSource, digest: str, only: Sequence[str] = ()) -> ImportPlan:
        """Do exactly what was shown."""


class OfferedHosts(msgspec.Struct, frozen=True):
    """What the command line hands to a gateway that it runs (`Ground.handed`)."""

    files: HostFiles

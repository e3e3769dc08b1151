"""Normal form of a server read from any configuration (`Server`), with notes, suggestions and errors of reading.

Texts are in our own substitution syntax (`${VAR}`, `${VAR:-default}`, `${secret:name}`, `$${` for a
plain `${`), times are seconds. A `Server` as a reader gives it may still hold literal secrets, so its
repr says nothing about values; `gatewright.hosts.secret_references` moves them out.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from gatewright.secret_scanning.message_text import shown

__all__ = [
    "Auth",
    "CannotRead",
    "Isolation",
    "Note",
    "NoteLevel",
    "Reading",
    "Refused",
    "Server",
    "Source",
    "Suggestion",
    "Timeouts",
    "Tools",
    "Transport",
]

Transport = Literal["stdio", "http", "sse"]
NoteLevel = Literal["refused", "skipped", "warning", "converted"]


class CannotRead(Exception):  # noqa: N818 - says what the source is
    """Nothing can be read from a source. `kind` is a word for programs; a text of the source in it is masked."""

    def __init__(self, kind: str, what: str, instead: str) -> None:
        self.what = shown(what)
        self.instead = shown(instead)
        super().__init__(f"{self.what}; {self.instead}")
        self.kind = kind


class Refused(Exception):  # noqa: N818 - says what happened to the server
    """One server cannot be taken over; the others can. `harmless` where nothing is lost by it."""

    def __init__(self, what: str, instead: str, *, harmless: bool = False) -> None:
        self.what = shown(what)
        self.instead = shown(instead)
        super().__init__(f"{self.what}; {self.instead}")
        self.harmless = harmless


class Timeouts(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds; None where nothing was said."""

    connect_s: float | None = None
    call_s: float | None = None


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools were switched on there. `include` None stands for all."""

    include: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """The sandbox that the host had for the server: network, hosts, folders. None where it had none."""

    network: Literal["none", "hosts"] | None = None
    hosts: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()


class Auth(msgspec.Struct, frozen=True, kw_only=True):
    """The credentials of a remote server, as far as the source has any."""

    bearer: str = ""
    client_id: str = ""
    client_secret: str = ""
    scopes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Without secrets: a repr ends in logs."""
        return f"Auth(scopes={self.scopes!r})"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Where a server was read: file (or URL), dotted key, format, SHA-256 of the bytes."""

    file: str = ""
    key: str = ""
    format: str = ""
    sha256: str = ""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """One server. `mgp` is its `[servers.mgp]`, `native` what else only our own file can say."""

    id: str
    transport: Transport
    title: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    cwd: str = ""
    env: Mapping[str, str] = {}
    env_file: str = ""
    url: str = ""
    headers: Mapping[str, str] = {}
    auth: Auth | None = None
    timeouts: Timeouts = Timeouts()
    enabled: bool = True
    tools: Tools = Tools()
    isolation: Isolation = Isolation()
    era: Literal["auto", "legacy", "modern"] = "auto"
    mgp: Mapping[str, Any] | None = None
    native: Mapping[str, Any] = {}
    source: Source = Source()

    def __repr__(self) -> str:
        """Values are left out: they may carry secrets, and a repr ends in logs."""
        return f"Server(id={self.id!r}, transport={self.transport!r})"


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to know. `refused`: the server was left out although it should not have been;
    `skipped`: it was left out and nothing is lost; `warning`: look at it; `converted`: the value that was
    read and what it became. `key` is the place in the source. All texts are as a message may repeat them."""

    level: NoteLevel
    server: str
    key: str
    what: str
    instead: str = ""

    def __post_init__(self) -> None:
        # Once, here: rows, JSON and messages all take their texts from these fields.
        for name in ("server", "key", "what", "instead"):
            msgspec.structs.force_setattr(self, name, shown(getattr(self, name)))


class Suggestion(msgspec.Struct, frozen=True, kw_only=True):
    """Tools that the host ran without confirmation; `*` is every tool. Shown to the person, never turned into a grant."""

    server: str
    tools: tuple[str, ...]
    key: str


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What one source said."""

    servers: tuple[Server, ...] = ()
    notes: tuple[Note, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()

"""Reads servers from a host's file, bundle, `server.json`, Docker catalogue or `[[servers]]`, told apart by keys, into `Server`.

What a document is, its keys say, never the name of its file. One server that cannot be said in our file
leaves the others alone; a document that cannot be read at all raises `CannotRead`.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from gatewright.hosts.bundle import manifest_of, read_manifest
from gatewright.hosts.docker_catalogue import (
    catalogue_entries,
    is_entry,
    read_catalogued,
    template_meaning,
)
from gatewright.hosts.entry import Entry
from gatewright.hosts.entry_places import find_entries, has_place, is_off, meaning_of
from gatewright.hosts.host_entry import read_entry
from gatewright.hosts.model import (
    CannotRead,
    Note,
    NoteLevel,
    Reading,
    Refused,
    Server,
    Source,
    Suggestion,
)
from gatewright.hosts.native import read_native
from gatewright.hosts.parse import parse
from gatewright.hosts.placeholders import escape
from gatewright.hosts.server_json import is_described, read_described
from gatewright.patterns import Pattern
from gatewright.secret_scanning.credentials import looks_secret, mask

__all__ = ["MAX_SERVERS", "Place", "read"]

MAX_SERVERS = 2000

_NO_ID = Pattern(r"[^A-Za-z0-9._-]+")
_ABSOLUTE = Pattern(r"[/~\\]|\$\{|[A-Za-z]:")


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text came from. `workspace` is the project's folder where the file belongs to one, `host`
    the host whose file it is where that is known, `bundles` the folder that bundles are unpacked into."""

    file: str = ""
    workspace: str | None = None
    host: str = ""
    platform: str = sys.platform
    bundles: str = "~/.local/share/gatewright/bundles"


Said = tuple[Server, list[Suggestion]]
Job = tuple[str, str, str, Entry, Callable[[Entry], Said]]
"""Format, key, name, entry, and how it is read."""


def read(content: bytes, place: Place = Place()) -> Reading:  # noqa: B008 - frozen
    """Everything that one text says. Raises `CannotRead`."""
    sha256 = hashlib.sha256(content).hexdigest()
    zipped = content.startswith(b"PK\x03\x04")
    document = parse(manifest_of(content) if zipped else content)
    if not isinstance(document, dict):
        raise _unknown()
    jobs = _jobs(document, place, sha256 if zipped else "")
    if jobs is None:
        raise _unknown()
    servers: list[Server] = []
    notes: list[Note] = []
    suggestions: list[Suggestion] = []
    for number, job in enumerate(jobs):
        if number >= MAX_SERVERS:
            raise CannotRead("too-many", f"it has more than {MAX_SERVERS} servers", "split it")
        server = _one(job, place, sha256, notes, suggestions)
        if server is not None:
            servers.append(server)
    return Reading(servers=tuple(servers), notes=tuple(notes), suggestions=tuple(suggestions))


def _unknown() -> CannotRead:
    return CannotRead(
        "unknown-format",
        "none of the known keys is in it (mcpServers, servers, mcp_servers, context_servers, mcp, "
        "extensions, packages, remotes, registry, manifest_version)",
        "name the file that has the servers in it",
    )


def _one(
    job: Job, place: Place, sha256: str, notes: list[Note], suggestions: list[Suggestion]
) -> Server | None:
    form, key, name, entry, reader = job
    key, server_id = mask(key), _id(name)
    try:
        server, confirmed = reader(entry)
    except Refused as found:
        level: NoteLevel = "skipped" if found.harmless else "refused"
        notes.append(
            Note(level=level, server=server_id, key=key, what=found.what, instead=found.instead)
        )
        return None
    if unread := [mask(one) for one in entry.unread()][:10]:
        entry.note("", f"not taken over: {', '.join(unread)}", "see whether it matters")
    at = f"{key}." if key else ""
    for note in entry.notes:
        whole = f"{at}{mask(note.key)}".rstrip(".")
        notes.append(msgspec.structs.replace(note, server=server_id, key=whole))
    suggestions += [
        msgspec.structs.replace(
            one, server=server_id, key=f"{at}{one.key}", tools=tuple(map(mask, one.tools))
        )
        for one in confirmed
    ]
    return msgspec.structs.replace(
        server,
        id=server_id,
        cwd=_absolute(server.cwd, place),
        source=Source(file=place.file, key=key, format=form, sha256=sha256),
    )


def _id(name: str) -> str:
    """A name that a server can have here, made of the one it had there."""
    made = _NO_ID.sub("-", name).strip("-._")[:48].rstrip("-._")
    if not made or looks_secret(name):
        return "server"
    return "mgp-server" if made == "mgp" else made


def _absolute(cwd: str, place: Place) -> str:
    """A folder that does not depend on where the gateway is started."""
    if not cwd or _ABSOLUTE.match(cwd):
        return cwd
    base = place.workspace or os.path.dirname(place.file)  # noqa: PTH120 - may be a URL
    # A URL has no folder on this machine: `cwd` then counts from the folder of mgp.toml.
    return f"{escape(base)}/{cwd}" if base.startswith("/") else cwd


def _jobs(document: Mapping[str, Any], place: Place, sha256: str) -> Iterator[Job] | None:
    """What there is to read, None where the document is of no known kind."""
    if {"manifest_version", "dxt_version"} & document.keys() and "server" in document:
        return iter([_bundle(document, place, sha256)])
    described = list(_described(document))
    if described:
        return iter(described)
    servers = document.get("servers")
    listed = [one for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    # Docker's profiles and our own files both have an array `servers`.
    if any(one.keys() & {"snapshot", "image"} for one in listed):
        return _catalogued(document)
    if isinstance(servers, list):
        return _native(servers)
    if isinstance(document.get("registry"), dict) or is_entry(document):
        return _catalogued(document)
    return _hosted(document, place) if has_place(document) else None


def _bundle(document: Mapping[str, Any], place: Place, sha256: str) -> Job:
    name = document.get("name")
    title = _id(name if isinstance(name, str) else "bundle")
    # By content: another build of the same bundle never starts in place of this one.
    folder = f"{place.bundles}/{title}/sha256-{sha256[:40]}"
    if not sha256:
        # The manifest of a bundle that is unpacked already.
        folder = os.path.dirname(place.file)  # noqa: PTH120 - may be a URL

    def reader(entry: Entry) -> Said:
        return read_manifest(document, entry, folder=folder, platform=place.platform), []

    return "mcpb", "server", title, Entry({}), reader


def _described(document: Mapping[str, Any]) -> Iterator[Job]:
    """`server.json`, or one or many of them as the registry's API wraps them."""
    wrapped = document.get("servers")
    many = wrapped if isinstance(wrapped, list) else []
    pairs = [("", document), ("server", document.get("server"))]
    for number, one in enumerate(many[: MAX_SERVERS + 1]):
        inner = one.get("server") if isinstance(one, dict) else None
        pairs.append((f"servers.{number}", inner if isinstance(inner, dict) else one))
    for key, data in pairs:
        if isinstance(data, dict) and is_described(data):
            name = data.get("name")
            short = name.rpartition("/")[2] if isinstance(name, str) else "server"
            yield "server.json", key, short, Entry({}), _reader_of(data)


def _reader_of(data: Mapping[str, Any]) -> Callable[[Entry], Said]:
    return lambda entry: (read_described(data, entry), [])


def _native(servers: list[Any]) -> Iterator[Job]:
    for number, data in enumerate(servers):
        table = data if isinstance(data, dict) else {}
        name = table.get("id")
        entry = Entry({key: one for key, one in table.items() if key != "id"})
        yield "mgp", f"servers.{number}", name if isinstance(name, str) else "", entry, read_native


def _catalogued(document: Mapping[str, Any]) -> Iterator[Job]:
    for key, name, data in catalogue_entries(document):
        table = data if isinstance(data, dict) else {}
        entry = Entry(table, syntaxes=("mustache",), meaning=template_meaning(table))

        # The default binds the name now: the loop has moved on when the reader is called.
        def reader(found: Entry, named: str = name) -> Said:
            return read_catalogued(found, _id(named)), []

        yield "docker", key, name, entry, reader


def _hosted(document: Mapping[str, Any], place: Place) -> Iterator[Job]:
    for found in find_entries(document, host=place.host, workspace=place.workspace):
        table = found.data if isinstance(found.data, dict) else {}
        entry = Entry(table, syntaxes=found.dialect.syntaxes, meaning=meaning_of(found))
        if found.dialect.format in {"continue", "goose"}:
            entry.used.add("name")

        def reader(one: Entry, known: Any = found) -> Said:
            server, confirmed = read_entry(one, known.dialect)
            folder = known.workspace
            if not server.cwd and folder is not None and server.transport == "stdio":
                server = msgspec.structs.replace(server, cwd=escape(folder))
            if is_off(known):
                server = msgspec.structs.replace(server, enabled=False)
            return server, confirmed

        yield found.dialect.format, found.key, found.name, entry, reader

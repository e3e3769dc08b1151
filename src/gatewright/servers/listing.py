"""`fetch_listing`, `fetch_section`: a server's lists, all pages, as raw JSON, bounded. `Listing`: those; of a failed list the old entries.

Nothing is modelled: a definition is a table of raw JSON members, so what this version of the gateway
has never heard of passes byte for byte. A list that breaks a limit counts as one that could not be fetched, and `failures` says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Generator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from gatewright.mcp.client.link import Link, ServerFailed, ServerRefused
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.spellings import DEFINITION, to_drop
from gatewright.servers.spec import ServerSpec
from gatewright.transport.slices import in_slices

__all__ = [
    "CHANGES",
    "EMPTY",
    "KINDS",
    "Definition",
    "Listing",
    "Section",
    "fetch_listing",
    "fetch_section",
    "settled",
]

Definition = Mapping[str, msgspec.Raw]
"""One tool, prompt, resource or template, as the server wrote it."""

Section = Literal["tools", "prompts", "resources", "resourceTemplates"]

KINDS: Mapping[Section, tuple[str, str]] = {
    "tools": ("tools/list", "tools"),
    "prompts": ("prompts/list", "prompts"),
    "resources": ("resources/list", "resources"),
    "resourceTemplates": ("resources/templates/list", "resources"),
}
"""Section → the method that lists it, and the capability without which it is not asked for."""

CHANGES: Mapping[str, str] = {
    f"notifications/{kind}/list_changed": kind for kind in ("tools", "prompts", "resources")
}
"""The notifications after which lists are fetched anew, and which."""

_PAGE_S = 30.0
_MOST = 100_000
"""Entries of one list, all pages together."""
_MOST_BYTES = 32 * 1024 * 1024
"""Of one list, all pages together."""

_CURSOR_BYTES = 64 * 1024
_SLICE_BYTES = 256 * 1024
"""Of definitions that are read before others have their turn."""


class Listing(msgspec.Struct, frozen=True):
    """What one server offers. `failures` say which sections could not be fetched when that was last tried, and why."""

    hello: Hello
    sections: Mapping[Section, Sequence[Definition]] = {}
    failures: Mapping[Section, str] = {}
    unknown: frozenset[Section] = frozenset()
    """What failed because the server does not know the method."""

    def of(self, section: Section) -> Sequence[Definition]:
        """The definitions of one kind, in the server's own order."""
        return self.sections.get(section, ())

    @property
    def missed(self) -> frozenset[str]:
        """What of `CHANGES` could not be fetched, and may be the next time: the server knows the method."""
        failed = (section for section in self.failures if section not in self.unknown)
        return frozenset(KINDS[section][1] for section in failed)


EMPTY = Listing(Hello(""))


async def fetch_listing(
    link: Link,
    spec: ServerSpec,
    before: Listing = EMPTY,
    only: Collection[str] = ("tools", "prompts", "resources"),
) -> Listing:
    """Everything that a connected server says it offers; of `only` some capabilities, the rest from
    `before`. A section that cannot be fetched stays as it was, and its failure is told. Only the end
    of the connection is raised, as `ServerFailed`."""
    hello = link.hello or Hello("")
    sections: dict[Section, Sequence[Definition]] = {}
    failures: dict[Section, str] = {}
    unknown: set[Section] = set()
    for section, (method, capability) in KINDS.items():
        if capability not in hello.capabilities:
            continue
        sections[section] = before.of(section)
        if capability not in only:
            # What is not known is no more known because something else is.
            failures |= {section: before.failures[section]} if section in before.failures else {}
            unknown |= before.unknown & {section}
            continue
        try:
            sections[section] = await fetch_section(link, spec, section)
        except ServerFailed as problem:
            if not link.open:
                raise
            code = problem.code if isinstance(problem, ServerRefused) else None
            # Many servers have resources, no templates, and do not know that method.
            if section != "resourceTemplates" or code != jsonrpc.METHOD_NOT_FOUND:
                failures[section] = f"{method} failed: {problem}"
            if code == jsonrpc.METHOD_NOT_FOUND:
                unknown.add(section)
    return Listing(hello, sections, failures, frozenset(unknown & failures.keys()))


def settled(listing: Listing, before: Listing) -> Generator[None, None, Listing]:
    """A listing with the very lists of the one `before` where those say the same, one entry a step, and that one itself where all of it
    does: whoever takes it sees by identity what has changed, and compares nothing."""
    sections = dict(listing.sections)
    for section, now in listing.sections.items():
        then = before.sections.get(section)
        if then is not None and (yield from _alike(now, then)):
            sections[section] = then
    kept = {section for section, now in sections.items() if now is before.sections.get(section)}
    if kept == before.sections.keys() == sections.keys() and _around(listing) == _around(before):
        return before
    return replace(listing, sections=sections) if kept else listing


def _alike(now: Sequence[Definition], then: Sequence[Definition]) -> Generator[None, None, bool]:
    if now is then:
        return True
    if len(now) != len(then):
        return False
    for one, other in zip(now, then, strict=True):
        yield
        if one is not other and one != other:
            return False
    return True


def _around(listing: Listing) -> tuple[object, ...]:
    """What a listing says besides its lists."""
    return listing.hello, listing.failures, listing.unknown


async def fetch_section(link: Link, spec: ServerSpec, section: Section) -> list[Definition]:
    """All pages of one list. Raises `ServerFailed`."""
    method = KINDS[section][0]
    found: list[Definition] = []
    cursor: str | None = None
    seen: set[str] = set()
    size = 0
    for _ in range(spec.catalogue.pages):
        raw = await link.fetch(method, {} if cursor is None else {"cursor": cursor}, _PAGE_S)
        size += len(raw)
        if size > _MOST_BYTES:
            raise ServerFailed(f"{method}: the list has more than {_MOST_BYTES} bytes")
        await asyncio.sleep(0)  # it was read over once already
        try:
            members = jsonrpc.members_named(raw, section, "nextCursor")
            await _take(members.get(section, msgspec.Raw(b"[]")), found)
            cursor = _cursor(members.get("nextCursor"))
        except jsonrpc.TooMuch as problem:
            raise ServerFailed(f"{method}: the list {problem}") from None
        except ValueError as problem:
            raise ServerFailed(f"{method}: the answer is not as MCP has it: {problem}") from None
        if cursor is None:
            return found
        # A cursor that comes twice goes in a circle; it would be followed up to the limit of pages.
        if cursor in seen:
            raise ServerFailed(f"{method}: the list has no end")
        seen.add(cursor)
    raise ServerFailed(f"{method}: more than {spec.catalogue.pages} pages")


async def _take(page: msgspec.Raw, found: list[Definition]) -> None:
    """Put the definitions of one page to those found, some of them in each turn of the loop. Raises `TooMuch`, `ValueError`."""
    texts = await in_slices(jsonrpc.entries(page, _MOST - len(found)))
    read = 0
    for text in texts:
        read += len(text)
        if read > _SLICE_BYTES:
            await asyncio.sleep(0)
            read = len(text)
        found.append(_plain(jsonrpc.decode_members(text)))


def _plain(definition: dict[str, msgspec.Raw]) -> Definition:
    """A definition without members that read as known ones and are spelled otherwise: a host could take them for those."""
    if definition.keys() <= DEFINITION:
        return definition
    dropped = frozenset(to_drop(definition, DEFINITION))
    return {name: one for name, one in definition.items() if name not in dropped}


def _cursor(text: msgspec.Raw | None) -> str | None:
    """Where the next page begins; None where there is none. Raises `TooMuch`."""
    if text is None or bytes(text)[:1] != b'"':
        return None
    if len(text) > _CURSOR_BYTES:
        raise jsonrpc.TooMuch(f"has a cursor of more than {_CURSOR_BYTES} bytes")
    return str(jsonrpc.decode(text))

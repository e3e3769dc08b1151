"""`ServerCatalogue`: one server's listed definitions parsed in slices; unusable ones are left out with a reason, unchanged tools reused.

A definition keeps every member as the server wrote it. Only what the gateway judges is decoded: the
name, the input schema, the hints, the declared security. What cannot be used safely is left out, and
the server's status says which and why; nothing is cut or corrected.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Target, Tool
from gatewright.mcp.protocol.tasks import runs_as_task
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import param_headers
from gatewright.schemas.graph import Graph, UnusableSchema
from gatewright.servers.data_flow import marks_of
from gatewright.servers.definition_bounds import check_members, check_size, comparable
from gatewright.servers.definition_digest import digest_steps
from gatewright.servers.listing import Definition, Listing, Section, settled
from gatewright.servers.spec import CatalogueLimits, ServerSpec
from gatewright.servers.tool_hints import Hinted, hinted
from gatewright.servers.tool_metadata import Words, read_words
from gatewright.servers.uri_templates import Template, flaw_of_template
from gatewright.transport.slices import in_slices, whole
from gatewright.validators.effective_security import effective_security, problems

__all__ = [
    "Built",
    "Entry",
    "ServerCatalogue",
    "build_listing",
    "encode_definition",
    "judged",
    "shelf_of",
    "shelve",
]

_TEMPLATES = 500
"""Any of them may have to be compared with a URI that somebody asks for."""


class Entry(msgspec.Struct, frozen=True):
    """A prompt, resource or template."""

    target: Target
    definition: Definition


class ServerCatalogue(msgspec.Struct, frozen=True):
    """What one server offers, in its own order. A `Tool` here has its own name as the exposed one."""

    tools: tuple[Tool, ...] = ()
    prompts: tuple[Entry, ...] = ()
    resources: tuple[Entry, ...] = ()
    templates: tuple[tuple[Entry, Template], ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    """The tools that its server lists and nobody sees, because they cannot be used safely or are too many: each with why."""
    named: tuple[str, ...] = ()
    """The own names of its tools, and those that an operator switched off or that are left out, as far as a list may
    have so many."""
    words: Mapping[str, Words] = {}
    """Name of a tool → what it says of itself, of those that say something."""
    by_name: Mapping[str, Tool] = {}
    """Its own name → each of the tools."""

    @property
    def entries(self) -> int:
        """How much there is of all kinds."""
        return len(self.tools) + len(self.prompts) + len(self.resources) + len(self.templates)

    def own_name(self, tool: Tool) -> str:
        """What a tool calls itself, whichever version of several it is; only in-process ones have another name than they are listed by."""
        said = self.words.get(tool.target.name)
        return tool.target.name if said is None else said.name or tool.target.name


class Built(msgspec.Struct, frozen=True):
    """What a server listed, and what was made of it by the words of `spec`."""

    spec: ServerSpec
    listing: Listing
    shelf: ServerCatalogue

    def of(self, spec: ServerSpec, listing: Listing) -> ServerCatalogue | None:
        """The shelf, where it was made of this listing and by the same words."""
        same = self.listing is listing and judged(self.spec) == judged(spec)
        return self.shelf if same else None


def judged(spec: ServerSpec) -> tuple[object, ...]:
    """What shelves depend on, besides what the server lists."""
    return spec.transport, spec.tools, spec.approver, spec.catalogue, spec.hints


def shelf_of(
    spec: ServerSpec, listing: Listing, made: Built | None, before: ServerCatalogue | None = None
) -> ServerCatalogue:
    """The shelf that was made of this listing by the same words, else one that is made now."""
    ready = None if made is None else made.of(spec, listing)
    return ready or build_listing(spec, listing, before)


_ENTRIES = 10_000
"""Prompts, and resources. No host shows more, and everybody waits while names are given to them."""
_WARNINGS = 100
_WARNING_CHARS = 400
"""Each is a line of the log."""
_NAME_BYTES = 8 * 1024
"""Of a name, URI or template as JSON. All of it is looked at in one step."""
_TOOL_NAME_CHARS = 128
"""Of a tool's name: what MCP gives it (2025-11-25, tools), hosts show and `[[grants]]` can say. Names are compared as they look, for
which a character may become eighteen, and what is known of longer ones is not kept."""


def build_listing(
    spec: ServerSpec, listing: Listing, before: ServerCatalogue | None = None
) -> ServerCatalogue:
    """Understand a listing. Never raises: a broken definition is left out, with a warning.

    `before` is what the same server offered last; tools that did not change are taken from it.
    """
    return whole(_steps(spec, listing, before))


def _steps(
    spec: ServerSpec, listing: Listing, before: ServerCatalogue | None = None
) -> Generator[None, None, ServerCatalogue]:
    """The same, one definition a step."""
    warnings = list(listing.failures.values())
    known = {} if before is None else before.by_name
    left_out: list[tuple[str, str]] = []
    tools, named = yield from _tools(spec, listing, known, warnings, left_out)
    in_order = tuple(tools.values())
    words = yield from read_words(in_order, known, before.words if before else {}, own=spec.local)
    templates = yield from _templates(spec, listing, warnings)
    prompts = yield from _entries(spec, listing, "prompts", "name", warnings)
    resources = yield from _entries(spec, listing, "resources", "uri", warnings)
    return ServerCatalogue(
        in_order,
        tuple(prompts),
        tuple(resources),
        tuple(templates),
        _few(warnings),
        tuple(left_out),
        tuple(named),
        words,
        tools,
    )


async def shelve(spec: ServerSpec, listing: Listing, before: Built | None) -> Built:
    """The same in slices, so that others have their turn however much is listed. What says the same as `before` is the same
    (`settled`), and all of it is where everything does."""
    known = None
    if before is not None:
        listing = await in_slices(settled(listing, before.listing))
        # What was judged by other words of the operator is judged anew.
        known = before.shelf if before.spec is spec else None
        if known is not None and listing is before.listing:
            return before
    return Built(spec, listing, await in_slices(_steps(spec, listing, known)))


def encode_definition(definition: Mapping[str, Any], instead: Mapping[str, str]) -> bytes:
    """The JSON text of a definition with some members replaced; their place stays."""
    return jsonrpc.encode({key: instead.get(key, value) for key, value in definition.items()})


def _tools(
    spec: ServerSpec,
    listing: Listing,
    known: Mapping[str, Tool],
    warnings: list[str],
    left_out: list[tuple[str, str]],
) -> Generator[None, None, tuple[dict[str, Tool], dict[str, None]]]:
    """Those that are offered, by name, and the names that are its own (`ServerCatalogue.named`)."""
    found: dict[str, Tool] = {}
    named: dict[str, None] = {}
    most = f"only the first {spec.catalogue.tools} tools are offered"
    for name, definition in _named(listing, "tools", "name", warnings):
        yield
        if not name:
            continue
        # Also those that are switched off or left out: no other server may take their names (`reserved_names`).
        if len(named) < spec.catalogue.tools:
            named[name] = None
        word = spec.word(name)
        if word is not None and not word.enabled:
            continue
        if len(found) >= spec.catalogue.tools:
            left_out.append((name, most))
            continue
        tool = known.get(name)
        try:
            if tool is None or tool.definition != definition:
                tool = yield from _made(spec, name, definition)
        except (ValueError, UnusableSchema) as problem:
            warnings.append(f"tool {name!r} is left out: {problem}")
            left_out.append((name, str(problem)))
            continue
        _look(spec, name, definition, warnings)
        found[name], named[name] = tool, None
    warnings += _once(most, left_out)
    return found, named


def _once(most: str, left_out: Iterable[tuple[str, str]]) -> list[str]:
    return [most] if any(why == most for _, why in left_out) else []


def _made(spec: ServerSpec, name: str, definition: Definition) -> Generator[None, None, Tool]:
    """A tool of a definition that can be compared. Raises `ValueError`, `UnusableSchema`."""
    check_size(definition, spec.catalogue.description_bytes)
    check_members(definition)
    if not all(map(comparable, definition.values())):
        yield from digest_steps(definition)
    return _tool(spec, name, definition)


def _tool(spec: ServerSpec, name: str, definition: Definition) -> Tool:
    text = bytes(definition.get("inputSchema", b""))
    schema = jsonrpc.decode(text) if text else None
    bounds = spec.catalogue
    if isinstance(schema, dict) and not _small(text, bounds):
        try:
            Graph(schema, bounds.schema_depth, bounds.subschemas)
        except UnusableSchema as problem:
            raise UnusableSchema(f"its input schema {problem}") from None
    hints = _decoded(definition, "annotations")
    declared, word = _decoded(definition, "security"), spec.word(name)
    security = effective_security(declared, word, name, hints, believed=spec.believed)
    said = hinted(definition)
    flow = marks_of(
        security.permissions_required, declared, said, None if word is None else word.flow
    )
    asked = _hints(spec, name, said)
    return Tool(
        target=Target(spec.id, name),
        exposed=name,
        definition=definition,
        schema=schema,
        security=replace(security, flow=flow, hints=asked) if flow or asked else security,
        headers=_headers(spec, text, schema),
        repeatable=word is not None and word.repeatable is True,
        as_task=spec.by_operators(name)
        and (security.confirmation_required or security.risk_level == "dangerous" or bool(asked))
        and not runs_as_task(definition),
    )


def _hints(spec: ServerSpec, name: str, said: Sequence[Hinted]) -> tuple[Hinted, ...]:
    """What its annotations say that a person is asked about. That an API is reached over the network says its operator, who
    wrote its address, and no server."""
    if spec.vouched(name):
        return ()
    return tuple(one for one in said if one == "destructive" or spec.transport != "openapi")


def _small(text: bytes, bounds: CatalogueLimits) -> bool:
    """Whether a schema is within all bounds for certain: too few brackets to be deep or wide, and no
    pattern. Most schemas are, and counting is thirty times cheaper than walking."""
    brackets = text.count(b"{") + text.count(b"[")
    # A member's name may be spelled with escapes, and then nothing is known by searching.
    few = brackets < min(2 * bounds.schema_depth, bounds.subschemas)
    return few and b"pattern" not in text and b"\\u" not in text


def _headers(spec: ServerSpec, text: bytes, schema: Any) -> Mapping[tuple[str, ...], str]:
    if b"x-mcp-header" not in text and b"\\u" not in text:
        return {}
    try:
        return param_headers(schema)
    except ValueError:
        # Such a tool must not be offered by a client that speaks HTTP; on a pipe nothing is mirrored.
        if spec.transport == "http":
            raise
        return {}


def _look(spec: ServerSpec, name: str, definition: Definition, warnings: list[str]) -> None:
    """What is odd about a tool that is offered all the same."""
    flaws = problems(_decoded(definition, "security"))
    warnings.extend(f"tool {name!r} counts as dangerous: {flaw}" for flaw in flaws)


def _templates(
    spec: ServerSpec, listing: Listing, warnings: list[str]
) -> Generator[None, None, list[tuple[Entry, Template]]]:
    entries = yield from _entries(spec, listing, "resourceTemplates", "uriTemplate", warnings)
    found: list[tuple[Entry, Template]] = []
    for entry in entries:
        yield
        name = entry.target.name
        flaw = flaw_of_template(name)
        if flaw:
            warnings.append(f"resource template {name[:100]!r} is left out: {flaw}")
        elif len(found) >= _TEMPLATES:
            warnings.append(f"only the first {_TEMPLATES} resource templates are offered")
            break
        else:
            found.append((entry, Template(name)))
    return found


def _entries(
    spec: ServerSpec, listing: Listing, section: Section, key: str, warnings: list[str]
) -> Generator[None, None, list[Entry]]:
    found: list[Entry] = []
    for name, definition in _named(listing, section, key, warnings):
        yield
        if not name:
            continue
        if len(found) >= _ENTRIES:
            warnings.append(f"{section}: only the first {_ENTRIES} are offered")
            break
        try:
            check_members(definition)
        except ValueError as problem:
            warnings.append(f"{section}: {name[:100]!r} is left out: {problem}")
            continue
        found.append(Entry(Target(spec.id, name), definition))
    return found


def _named(
    listing: Listing, section: Section, key: str, warnings: list[str]
) -> Iterable[tuple[str, Definition]]:
    """Definitions with the member that names them; a name that occurs twice counts once. An empty name is of what is left
    out."""
    seen: set[str] = set()
    for definition in listing.of(section):
        name = _text(definition.get(key))
        if not name:
            warnings.append(f"{section}: an entry without a usable {key!r} is left out")
            name = ""
        elif section == "tools" and len(name) > _TOOL_NAME_CHARS:
            said = f"its name has more than {_TOOL_NAME_CHARS} characters"
            warnings.append(f"tool {name[:_TOOL_NAME_CHARS]!r}… is left out: {said}")
            name = ""
        elif name in seen:
            warnings.append(f"{section}: {name!r} is listed twice; the first one counts")
            name = ""
        seen.add(name)
        yield name, definition


def _few(warnings: list[str]) -> tuple[str, ...]:
    """As many as somebody reads, and how many more there are."""
    shown = tuple(one[:_WARNING_CHARS] for one in warnings[:_WARNINGS])
    more = len(warnings) - len(shown)
    return (*shown, f"{more:,} more of its entries are odd or left out") if more else shown


def _text(raw: msgspec.Raw | None) -> str:
    """A text that may name something; empty where it is none, and nothing else is decoded."""
    text = b"" if raw is None else bytes(raw)
    if text[:1] != b'"' or len(text) > _NAME_BYTES:
        return ""
    try:
        return str(jsonrpc.decode(text))
    except ValueError:
        return ""


def _decoded(definition: Definition, key: str) -> Any:
    found = definition.get(key)
    return None if found is None else jsonrpc.decode(found)

"""One profile's view of the catalogue: which name means what. Immutable once built.

Exposed names come from `names`. Besides its exposed name a tool answers to its canonical and its
dotted one; all lead to the same `Tool`, so policy judges one subject whatever it was called.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import KERNEL, SHIPPED, Security, Target, Tool
from gatewright.protocol.negotiate import SECURITY_META
from gatewright.transport.slices import at_once
from gatewright.upstream.claims import Claims
from gatewright.upstream.names import (
    Names,
    kernel_names,
    name_steps,
    unwrap_uri,
    uri_steps,
    wrap_template,
    wrap_uri,
)
from gatewright.upstream.shelf import Shelf, encode_definition
from gatewright.upstream.spec import ServerSpec
from gatewright.upstream.templates import Template
from gatewright.wire import jsonrpc

__all__ = ["LISTS", "Item", "Profile", "View"]

LISTS: Mapping[str, str] = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
}
"""The methods that the catalogue answers, and the member of their result."""


class Profile(msgspec.Struct, frozen=True):
    """A named view. Empty `servers` or `tools` leave that side open; tools are canonical names
    (`server/tool`) or exposed ones. `unprefixed` shows the only server's names as they are. The tools of
    the gateway itself belong to every view that is not narrowed to other servers or tools."""

    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    unprefixed: bool = False


class Item:
    """One entry of a list; its text is made when it is first asked for. `instead` are the members
    that read differently here."""

    __slots__ = ("_definition", "_instead", "_mgp", "_plain", "resource", "server", "tool")

    def __init__(
        self,
        server: str,
        definition: Mapping[str, Any],
        instead: Mapping[str, str],
        tool: Tool | None = None,
        resource: Target | None = None,
    ) -> None:
        self.server = server
        self.tool = tool
        self.resource = resource
        self._definition = definition if tool is None or not tool.as_task else _as_task(definition)
        self._instead = instead
        self._plain: bytes | None = None
        self._mgp: bytes | None = None

    def text(self, mgp: bool) -> bytes:
        """The JSON text; with `mgp`, for a client that negotiated `security`."""
        if mgp and self.tool is not None:
            if self._mgp is None:
                shown = _with_security(self.tool, self._definition)
                self._mgp = encode_definition(shown, self._instead)
            return self._mgp
        if self._plain is None:
            plain = self._definition
            if self.tool is not None and "security" in plain:
                # MGP's word, which no client hears that did not ask for MGP.
                plain = {key: value for key, value in plain.items() if key != "security"}
            self._plain = encode_definition(plain, self._instead)
        return self._plain


class View:
    """The names of one profile."""

    def __init__(
        self, profile: Profile, specs: Mapping[str, ServerSpec], shelves: Mapping[str, Shelf]
    ) -> None:
        at_once(self._made(profile, specs, shelves))

    @classmethod
    def steps(
        cls, profile: Profile, specs: Mapping[str, ServerSpec], shelves: Mapping[str, Shelf]
    ) -> Generator[None, None, View]:
        """The same, some entries a step."""
        view = cls.__new__(cls)
        yield from view._made(profile, specs, shelves)
        return view

    def _made(
        self, profile: Profile, specs: Mapping[str, ServerSpec], shelves: Mapping[str, Shelf]
    ) -> Generator[None, None, None]:
        wanted = [one for one in specs if not profile.servers or one in profile.servers]
        self.servers: tuple[str, ...] = tuple(one for one in wanted if one != KERNEL)
        foreign = [one for one in self.servers if one != SHIPPED]
        self.unprefixed = profile.unprefixed and len(foreign) == 1
        self._prefixes = {
            one: prefix for one in wanted if (prefix := specs[one].prefix) is not None
        }
        self._bare = self.servers if self.unprefixed else (SHIPPED,)
        self._items: dict[str, list[Item]] = {method: [] for method in LISTS}
        self.tools: dict[str, Tool] = {}
        """By exposed, canonical (`server/tool`) and dotted name."""
        shelved = [shelves[one] for one in wanted if one in shelves]
        yield from self._place_tools(shelved, profile)
        self._prompts = yield from self._place_prompts(shelved)
        self._claims = Claims(shelved)
        yield
        self._uris = yield from self._place_resources(shelved)
        self._templates = yield from self._place_templates(shelved)

    def items(self, method: str) -> Sequence[Item]:
        """What one list holds, whoever may see it."""
        return self._items[method]

    def prompt(self, name: str) -> Target | None:
        """A prompt by any of its names."""
        return self._prompts.find(name)

    def owners(self, uri: str) -> list[Target]:
        """Whose resource this may be, and its own URI there: whose wrapped URI it is, else everybody who lists it or has
        a template that fits. Where those are several, nobody's word counts for more than another's: neither that of who
        lists it, nor that of the closer template, because anybody can say either."""
        listed = self._uris.find(uri)
        if listed is not None:
            return [listed]
        wrapped = unwrap_uri(uri)
        if wrapped is not None:
            return [wrapped] if wrapped.server in self.servers else []
        return [Target(one, uri) for one in self._claims.of(uri)]

    def templated(self, text: str) -> list[Target]:
        """The template that is listed with this text."""
        return [target for _, target, exposed in self._templates if exposed == text]

    def shared(self, resource: Target) -> bool:
        """Whether the URI of a server's resource, as it stands, may be somebody else's as well, or looks like a wrapped one."""
        return unwrap_uri(resource.name) is not None or self._claims.beside(resource)

    def spellings(self, resource: Target) -> list[str]:
        """All that a server's resource may be called here, the plain one last."""
        found = [wrap_uri(resource), wrap_template(resource)]
        return found if unwrap_uri(resource.name) is not None else [*found, resource.name]

    def _place_tools(self, shelved: list[Shelf], profile: Profile) -> Generator[None, None, None]:
        tools = {tool.target: tool for shelf in shelved for tool in shelf.tools}
        own = {target: kernel_names(target.name) for target in tools if target.server == KERNEL}
        names = yield from name_steps(
            tools,
            prefixes=self._prefixes,
            bare=self._bare,
            fixed={target: exposed for target, (exposed, _) in own.items()},
        )
        shown: dict[Target, Tool] = {}
        for target, tool in tools.items():
            yield
            exposed = names.exposed[target]
            canonical = f"{target.server}/{target.name}"
            if profile.tools and exposed not in profile.tools and canonical not in profile.tools:
                continue
            shown[target] = msgspec.structs.replace(tool, exposed=exposed)
            item = Item(target.server, tool.definition, {"name": exposed}, shown[target])
            self._items["tools/list"].append(item)
        self.tools = {
            name: shown[target] for name, target in names.targets.items() if target in shown
        }
        # The method of that name, called as a tool (decision C-14).
        self.tools |= {method: shown[one] for one, (_, method) in own.items() if one in shown}

    def _place_prompts(self, shelved: list[Shelf]) -> Generator[None, None, Names]:
        prompts = {entry.target: entry for shelf in shelved for entry in shelf.prompts}
        names = yield from name_steps(prompts, prefixes=self._prefixes, bare=self._bare)
        for target, entry in prompts.items():
            item = Item(target.server, entry.definition, {"name": names.exposed[target]})
            self._items["prompts/list"].append(item)
            yield
        return names

    def _place_resources(self, shelved: list[Shelf]) -> Generator[None, None, Names]:
        resources = {entry.target: entry for shelf in shelved for entry in shelf.resources}
        names = yield from uri_steps(resources, self._claims.beside)
        for target, entry in resources.items():
            instead = _instead("uri", target, names.exposed[target])
            item = Item(target.server, entry.definition, instead, resource=target)
            self._items["resources/list"].append(item)
            yield
        return names

    def _place_templates(
        self, shelved: list[Shelf]
    ) -> Generator[None, None, list[tuple[Template, Target, str]]]:
        found: list[tuple[Template, Target, str]] = []
        for entry, template in (pair for shelf in shelved for pair in shelf.templates):
            target = entry.target
            exposed = wrap_template(target) if self._claims.meets(target) else target.name
            found.append((template, target, exposed))
            instead = _instead("uriTemplate", target, exposed)
            item = Item(target.server, entry.definition, instead)
            self._items["resources/templates/list"].append(item)
            yield
        return found


def _instead(member: str, target: Target, exposed: str) -> dict[str, str]:
    """Nothing where the name is the server's own: then not even its spelling changes."""
    return {} if exposed == target.name else {member: exposed}


def _as_task(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition that says that the tool may be called as a task (MCP 2025-11-25)."""
    found = definition.get("execution")
    said = jsonrpc.decode_members(found) if found is not None and bytes(found)[:1] == b"{" else {}
    return {**definition, "execution": {**said, "taskSupport": "optional"}}


def _with_security(tool: Tool, definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition with the effective security in both places, what the server declared besides kept."""
    declared = definition.get("security")
    found = jsonrpc.decode(declared) if declared is not None else {}
    shown = {**(found if isinstance(found, dict) else {}), **_spelled(tool.security)}
    meta = definition.get("_meta")
    around = jsonrpc.decode_members(meta) if meta is not None and bytes(meta)[:1] == b"{" else {}
    return {
        **definition,
        "security": shown,
        "_meta": {**around, SECURITY_META: shown},
    }


def _spelled(security: Security) -> dict[str, Any]:
    return {
        "risk_level": security.risk_level,
        "permissions_required": list(security.permissions_required),
        "validator": security.validator,
        "confirmation_required": security.confirmation_required,
    }

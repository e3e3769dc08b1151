"""`View`: one profile's index from exposed names and URIs to tools, prompts and resources; encodes and caches the entries of its lists.

Exposed names come from `names`. Besides its exposed name a tool answers to its canonical and its
dotted one; all lead to the same `Tool`, so policy judges one subject whatever it was called.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import KERNEL, SHIPPED, Security, Target, Tool
from gatewright.mcp.protocol.negotiate import SECURITY_META
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.names import (
    Naming,
    expose_names,
    expose_uris,
    is_meta,
    kernel_names,
    looks_wrapped,
    unwrap_uri,
    wrap_template,
    wrap_uri,
)
from gatewright.servers.reserved_meta import without_ours
from gatewright.servers.server_catalogue import ServerCatalogue, encode_definition
from gatewright.servers.spec import ServerSpec
from gatewright.servers.uri_claims import Claims
from gatewright.servers.uri_templates import Template

__all__ = ["LISTS", "Item", "Profile", "View", "readings", "view_of"]

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
    the gateway itself belong to every view that is not narrowed to other servers or tools; those about tools
    (`names.META_TOOLS`) to every one."""

    servers: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    unprefixed: bool = False


class Item:
    """One entry of a list; its text is made when it is first asked for. `instead` are the members
    that read differently here."""

    __slots__ = (
        "_apart",
        "_definition",
        "_instead",
        "_mgp",
        "_own",
        "_plain",
        "alone",
        "others",
        "resource",
        "server",
        "tool",
    )

    def __init__(
        self,
        server: str,
        definition: Mapping[str, Any],
        instead: Mapping[str, str],
        tool: Tool | None = None,
        resource: Target | None = None,
        *,
        own: bool = False,
    ) -> None:
        """`own` is what the gateway itself defines, which may use its words."""
        self._own = own
        self.others: frozenset[str] = frozenset()
        """The servers because of which it reads differently."""
        self.alone: Item | None = None
        """How it reads where none of them exists: what a list says is no word about servers that its reader may not see."""
        self.server = server
        self.tool = tool
        self.resource = resource
        self._definition = definition if tool is None or not tool.as_task else _as_task(definition)
        self._instead = instead
        self._plain: bytes | None = None
        self._mgp: bytes | None = None
        self._apart: Item | None = None

    def apart(self, others: frozenset[str], alone: Item) -> None:
        """It reads so because of others, and otherwise without them."""
        self.others, self.alone = others, alone

    def qualified(self) -> Item:
        """How a resource reads whose URI is nobody's as it stands, for somebody: with its server in it."""
        if self.resource is None or self._instead:
            return self
        if self._apart is None:
            instead = {"uri": wrap_uri(self.resource)}
            self._apart = Item(
                self.server, self._definition, instead, resource=self.resource, own=self._own
            )
        return self._apart

    def stands(self, sees: Callable[[str], bool]) -> bool:
        """Whether somebody who `sees` some servers is shown this, and not what it is `alone`."""
        return not self.others or any(map(sees, self.others))

    def text(self, mgp: bool) -> bytes:
        """The JSON text; with `mgp`, for a client that negotiated `security`."""
        if mgp and self.tool is not None:
            if self._mgp is None:
                shown = _with_security(self.tool, self._screened())
                self._mgp = encode_definition(shown, self._instead)
            return self._mgp
        if self._plain is None:
            plain = self._screened()
            if self.tool is not None and "security" in plain:
                # MGP's word, which no client hears that did not ask for MGP.
                plain = {key: value for key, value in plain.items() if key != "security"}
            self._plain = encode_definition(plain, self._instead)
        return self._plain

    def _screened(self) -> Mapping[str, Any]:
        return self._definition if self._own else without_ours(self._definition)


def readings(item: Item, n: int, count: int, visible: frozenset[int] | None) -> tuple[Item, ...]:
    """How the item of a number of so many reads in a list (`Catalogue`); empty where it is not `visible`."""
    if visible is None or n in visible:
        return (item,)
    if ~n in visible:
        return (item.alone or item,)
    return (item.qualified(),) if n + count in visible else ()


def view_of(
    profile: Profile,
    specs: Mapping[str, ServerSpec],
    shelves: Mapping[str, ServerCatalogue],
    away: Mapping[str, ServerSpec] | None = None,
    absent: Mapping[str, Collection[str]] | None = None,
    heard: Mapping[str, ServerCatalogue] | None = None,
) -> Generator[None, None, View]:
    """The view of a profile, made step by step (`slices`) of what is on the shelves now. See `View` for the rest."""
    return View(profile, specs, shelves, away, absent, heard)._placed()


class View:
    """The names of one profile. Made by `view_of`."""

    def __init__(
        self,
        profile: Profile,
        specs: Mapping[str, ServerSpec],
        shelves: Mapping[str, ServerCatalogue],
        away: Mapping[str, ServerSpec] | None = None,
        absent: Mapping[str, Collection[str]] | None = None,
        heard: Mapping[str, ServerCatalogue] | None = None,
    ) -> None:
        """`away` are servers that are switched off. `absent` are names of tools, by server, that are not on a shelf now and
        whose owner may be back: nobody else is given what they are called. `heard` is what servers listed last, there or not,
        by which prompts and URIs are whose they are (`last_heard`); None: what is on the shelves."""
        gone = [one for one in away or () if not profile.servers or one in profile.servers]
        # No server has an empty id: of a profile that is not there any more nothing is seen.
        shown = profile.servers if "" in profile.servers else (*profile.servers, KERNEL)
        wanted = [one for one in specs if not profile.servers or one in shown]
        self.servers: tuple[str, ...] = tuple(one for one in wanted if one != KERNEL)
        foreign = [one for one in self.servers if one != SHIPPED]
        self.unprefixed = profile.unprefixed and len(foreign) == 1
        known = self._known = {**specs, **(away or {})}
        self._prefixes = {
            one: prefix for one in (*wanted, *gone) if (prefix := known[one].prefix) is not None
        }
        self._bare = self.servers if self.unprefixed else (SHIPPED,)
        # The only server is switched off: its bare names stay its own for when it is back.
        if profile.unprefixed and not foreign and len(gone) == 1:
            self._bare = (*self._bare, *gone)
        self._items: dict[str, list[Item]] = {method: [] for method in LISTS}
        self.tools: dict[str, Tool] = {}
        """By exposed, canonical (`server/tool`) and dotted name."""
        self.gone = tuple(gone)
        """The servers that are switched off."""
        self.missing: dict[str, Target] = {}
        """What tools that are not there now are called: away, switched off, or left out."""
        self._shelved = [shelves[one] for one in wanted if one in shelves]
        self._private = frozenset(one for one in wanted if known[one].private)
        heard = shelves if heard is None else heard
        self._heard = [heard[one] for one in (*wanted, *gone) if one in heard]
        self._claiming = [
            heard[one] for one in (*wanted, *gone) if one in heard and not known[one].private
        ]
        self.several: bool = len(self.servers) + sum(one in heard for one in gone) > 1
        """Whether a URI alone does not say whose it is."""
        self._absent = [
            Target(one, name) for one in (*wanted, *gone) for name in (absent or {}).get(one, ())
        ]
        self._profile = profile

    def _placed(self) -> Generator[None, None, View]:
        shelved = self._shelved
        self.called: dict[str, list[Tool]] = {}
        """What tools call themselves → those of that name, in the order of the list: versions of one, or of several servers."""
        yield from self._place_tools(shelved, self._profile)
        self._prompts_here = frozenset(one.target for shelf in shelved for one in shelf.prompts)
        self._prompts = yield from self._place_prompts(shelved)
        self._claims = Claims()
        yield from self._claims.count(self._claiming)
        self._uris = yield from self._place_resources(shelved)
        self._templates: list[tuple[Template, Target, str]] = []
        yield from self._place_templates(shelved)
        return self

    def items(self, method: str) -> Sequence[Item]:
        """What one list holds, whoever may see it."""
        return self._items[method]

    def prompt(self, name: str, *, there: bool = True) -> Target | None:
        """A prompt by any of its names; where it need not be `there`, also one that its server listed when that was there."""
        found = self._prompts.find(name)
        return None if there and found not in self._prompts_here else found

    def owners(self, uri: str) -> list[Target]:
        """Whose resource this may be, and its own URI there: whose wrapped URI it is, else everybody who lists it or has
        a template that fits, or did when it was there last. Where those are several, nobody's word counts for more than another's: neither that of who
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

    def shared(self, resource: Target, sees: Callable[[str], bool] = lambda _: True) -> bool:
        """Whether the URI of a server's resource, as it stands, may be somebody else's as well, for all that somebody `sees`, or looks
        like a wrapped one."""
        if resource.server in self._private or unwrap_uri(resource.name) is not None:
            return True
        return self._claims.beside(resource) and any(map(sees, self._claims.others(resource)))

    def _place_tools(
        self, shelved: list[ServerCatalogue], profile: Profile
    ) -> Generator[None, None, None]:
        tools = {tool.target: tool for shelf in shelved for tool in shelf.tools}
        self.offered: Mapping[Target, Tool] = tools
        """All that the servers list, also what the profile leaves out."""
        said = {one.target: shelf.own_name(one) for shelf in shelved for one in shelf.tools}
        own = {target: kernel_names(target.name) for target in tools if target.server == KERNEL}
        names = yield from expose_names(
            [*tools, *self._absent],
            prefixes=self._prefixes,
            bare=self._bare,
            fixed={target: exposed for target, (exposed, _) in own.items()},
        )
        shown: dict[Target, Tool] = {}
        for target, tool in tools.items():
            yield
            exposed = names.exposed[target]
            canonical = f"{target.server}/{target.name}"
            narrowed = bool(profile.tools) or (target.server == KERNEL and bool(profile.servers))
            named = exposed in profile.tools or canonical in profile.tools
            if narrowed and not named and not is_meta(target):
                continue
            shown[target] = msgspec.structs.replace(tool, exposed=exposed)
            self.called.setdefault(said[target], []).append(shown[target])
            item = self._item(target, tool.definition, {"name": exposed}, shown[target])
            self._items["tools/list"].append(item)
        self.tools = {
            name: shown[target] for name, target in names.targets.items() if target in shown
        }
        # The method of that name, called as a tool (decision C-14).
        self.tools |= {method: shown[one] for one, (_, method) in own.items() if one in shown}
        self.missing = {name: one for name, one in names.targets.items() if one not in tools}

    def _item(
        self,
        target: Target,
        definition: Mapping[str, Any],
        instead: Mapping[str, str],
        tool: Tool | None = None,
        resource: Target | None = None,
    ) -> Item:
        own = self._known[target.server].local
        return Item(target.server, definition, instead, tool, resource, own=own)

    def _place_prompts(self, shelved: list[ServerCatalogue]) -> Naming:
        prompts = {entry.target: entry for shelf in shelved for entry in shelf.prompts}
        away = (entry.target for shelf in self._heard for entry in shelf.prompts)
        every = dict.fromkeys((*prompts, *away))
        names = yield from expose_names(every, prefixes=self._prefixes, bare=self._bare)
        for target, entry in prompts.items():
            yield
            item = self._item(target, entry.definition, {"name": names.exposed[target]})
            self._items["prompts/list"].append(item)
        return names

    def _place_resources(self, shelved: list[ServerCatalogue]) -> Naming:
        resources = {entry.target: entry for shelf in shelved for entry in shelf.resources}
        names = yield from expose_uris(resources, self._claims.beside, self._private)
        for target, entry in resources.items():
            yield
            instead = _instead("uri", target, names.exposed[target])
            item = self._item(target, entry.definition, instead, resource=target)
            if instead and not self._always_wrapped(target):
                alone = self._item(target, entry.definition, {}, resource=target)
                item.apart(self._claims.others(target), alone)
            self._items["resources/list"].append(item)
        return names

    def _always_wrapped(self, target: Target) -> bool:
        """Whether it is shown in qualified form whatever others have."""
        return target.server in self._private or looks_wrapped(target.name)

    def _place_templates(self, shelved: list[ServerCatalogue]) -> Generator[None, None, None]:
        for entry, template in (pair for shelf in shelved for pair in shelf.templates):
            yield
            target = entry.target
            wrapped = self._always_wrapped(target) or self._claims.meets(target)
            exposed = wrap_template(target) if wrapped else target.name
            # What is listed is compared as a whole (`templated`), so the exposed text is kept.
            self._templates.append((template, target, exposed))
            instead = _instead("uriTemplate", target, exposed)
            item = self._item(target, entry.definition, instead)
            if instead and not self._always_wrapped(target):
                item.apart(self._claims.met(target), self._item(target, entry.definition, {}))
            self._items["resources/templates/list"].append(item)


def _instead(member: str, target: Target, exposed: str) -> dict[str, str]:
    """Nothing where the name is the server's own: then not even its spelling changes."""
    return {} if exposed == target.name else {member: exposed}


def _as_task(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A definition that says that the tool may be called as a task (MCP 2025-11-25)."""
    # An operator may take longer than a client waits: as a task the call can be left and asked about.
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

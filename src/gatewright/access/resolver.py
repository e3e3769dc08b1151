"""`CatalogueResolver`: looks up tools, prompts, resources and methods by a profile's names for gate `resolve`; explains why a name is missing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping

from gatewright.call import Call, Caller, Refusal, Target, Tool
from gatewright.command_text import to_type
from gatewright.servers.declared_methods import owner_of_method
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.listing import KINDS, Section
from gatewright.servers.names import wrap_uri
from gatewright.servers.server_set import ServerSet
from gatewright.servers.uri_templates import LONGEST_URI

__all__ = ["CatalogueResolver"]

_NOBODY: Mapping[str, Refusal] = {}
_REASONS = {
    "error": "upstream_unavailable",
    # Its URL did not answer. Whether it ever said what it offers makes no difference to that.
    "disconnected": "upstream_unavailable",
    "draining": "draining",
    "restarting": "restarting",
}


_SECTIONS: Mapping[str, Section] = {"tool": "tools", "prompt": "prompts", "resource": "resources"}
_KINDS = {section: kind for section, (_, kind) in KINDS.items()}


class CatalogueResolver:
    """Implements `resolve_gate.Catalogue` over the servers of one configuration."""

    def __init__(
        self,
        fleet: ServerSet,
        dispatch: Dispatch,
        may_reach: Callable[[Caller, str], bool],
        barred: Mapping[str, Refusal] = _NOBODY,
        *,
        may_use: Callable[[Caller, Tool], bool],
    ) -> None:
        """`dispatch` is where calls to this fleet go; `may_reach` and `may_use` are the access gate's; `barred` says which servers may not
        be used at all, and why."""
        self._may_reach = may_reach
        self._may_use = may_use
        self._barred = barred
        self._fleet = fleet
        self._dispatch = dispatch
        self._catalogue = fleet.catalogue
        self.tool: Callable[[str, str], Tool | None] = fleet.catalogue.tool
        """A tool by any of its names in a profile."""
        self.seen_tool: Callable[[str, str], Tool | None] = fleet.catalogue.seen_tool
        """The same, where nothing has to be made for it."""
        self.making: Callable[[str], Awaitable[None] | None] = fleet.catalogue.making
        """What to wait for before any name of a profile is looked up."""
        self._prefixes = {
            spec.id: spec.prefix + "__" for spec in fleet.specs.values() if spec.prefix is not None
        }

    def prompt(self, profile: str, name: str, caller: Caller) -> Target | None:
        """A prompt by any of its names, of the servers the caller may reach."""
        found = self._catalogue.prompt(profile, name)
        return found if found is None or self._may_reach(caller, found.server) else None

    def resource(self, profile: str, uri: str, caller: Caller) -> Target | None:
        """The owner of a URI, among the servers the caller may reach."""
        return self._catalogue.resource(profile, uri, caller)

    def led(self, call: Call) -> Call | None:
        """A call of a method that the gateway leads itself, with what it means; None where it knows none of that name."""
        dispatch = self._dispatch
        return dispatch.about(call) if dispatch.answers(call.method) else None

    def method(self, call: Call) -> Target | Refusal:
        """The server that a method was declared for."""
        return owner_of_method(call, self._fleet.specs, self._catalogue)

    def tools(self, profile: str) -> Iterable[Tool]:
        """Everything that `tool` finds, once."""
        items = self._catalogue.view(profile).items("tools/list")
        return (item.tool for item in items if item.tool is not None)

    def absent(self, call: Call, *, made: bool) -> Refusal | None:
        """A server that never said what it offers may still come to own the name. Told only to
        those who could use it: for everybody else the server does not exist."""
        if call.kind == "resource" and (contested := self._contested(call)) is not None:
            return contested
        if (owner := self._owner_away(call)) is not None:
            return self._barred.get(owner) or self._not_yet(owner, made=made)
        for server in self._catalogue.view(call.profile).servers:
            if not self._may_own(call, server) or not self._may_reach(call.caller, server):
                continue
            if server in self._barred:
                return self._barred[server]
            # What it listed when it was connected last is in the catalogue.
            if not self._has_listed(call, server):
                return self._not_yet(server, made=made)
        return self._switched_off(call) if call.kind == "tool" else None

    def _owner_away(self, call: Call) -> str | None:
        """The server that a prompt or a URI is of, or may turn out to be of, and that is not there."""
        if call.kind == "resource":
            found = self._catalogue.away(call.profile, call.name, call.caller)
        elif call.kind == "prompt":
            target = self._catalogue.prompt(call.profile, call.name, there=False)
            found = None if target is None else target.server
        else:
            return None
        return found if found is not None and self._may_reach(call.caller, found) else None

    def _has_listed(self, call: Call, server: str) -> bool:
        """Whether a server has said what it offers, of the kind that is called."""
        listing = self._catalogue.listing(server)
        section = _SECTIONS.get(call.kind)
        if not listing.hello.revision or section is None:
            return bool(listing.hello.revision)
        return bool(listing.of(section)) or _KINDS[section] not in listing.missed

    def _not_yet(self, server: str, *, made: bool) -> Refusal:
        state = self._fleet.states.get(server, "registered")
        spec, owner = self._fleet.specs.get(server), self._fleet.servers.get(server)
        if owner is not None and made:
            owner.life.missed()  # else it would be tried again by nobody: no call reaches it before its tools are known
        stopped = spec is not None and spec.stopped
        off = spec is not None and not spec.enabled
        how = "has not listed its tools yet" if state == "connected" else "is not connected"
        return Refusal(
            "upstream_unavailable" if stopped or off else _REASONS.get(state, "server_not_ready"),
            f"server {server} {how} ({state}); {_way(server, stopped, off)}",
            {"server": server, "state": state},
            1000,
        )

    def _switched_off(self, call: Call) -> Refusal | None:
        """A tool, or its server, that an operator switched off: told only to those who could use it else."""
        target = self._missing(call)
        spec = None if target is None else self._fleet.specs.get(target.server)
        if target is None or spec is None or not self._may_reach(call.caller, spec.id):
            return None
        word = spec.word(target.name)
        if spec.enabled and (word is None or word.enabled):
            return None
        if not self._may_use(call.caller, Tool(target, call.name, {})):
            return None
        if spec.enabled:
            checks = to_type("config check")
            how = f"set enabled = true in its table of mgp.toml; `{checks}` checks what is written"
        else:
            how = f"`{to_type('server enable {}', spec.id)}` enables its server"
        details = {"server_id": spec.id, "tool_name": target.name}
        return Refusal("tool_disabled", f"{call.name} is switched off: {how}", details)

    def _missing(self, call: Call) -> Target | None:
        """Which tool it is that is not there: as its server listed it once, else by the prefix of a server that is switched off."""
        view = self._catalogue.view(call.profile)
        if (found := view.missing.get(call.name)) is not None:
            return found
        for server in view.gone:
            prefix = self._prefixes.get(server, server + "__")
            if call.name.startswith(prefix):
                return Target(server, call.name.removeprefix(prefix))
        return None

    def _contested(self, call: Call) -> Refusal | None:
        """A URI that several servers claim, or one and what had its id before, is none of theirs; in qualified form it is one's."""
        found, claims = self._catalogue.claimants(call.profile, call.name, call.caller)
        if claims < 2 or not found:
            return None if claims or len(call.name) <= LONGEST_URI else _too_long(call.name)
        names = [wrap_uri(one) for one in found]
        return Refusal(
            "not_found",
            f"several servers have or had a resource {call.name[:128]!r}; read it as "
            + " or ".join(names)[:2000],
            {"uri": call.name, "candidates": names},
        )

    def _may_own(self, call: Call, server: str) -> bool:
        return self._catalogue.view(call.profile).unprefixed or call.name.startswith(
            self._prefixes.get(server, server + "__")
        )


def _too_long(uri: str) -> Refusal:
    return Refusal(
        "not_found",
        f"no server lists the resource {uri[:128]!r}…, and only a URI of at most {LONGEST_URI} characters is looked for "
        f"among resource templates: this one has {len(uri)}",
        {"limit": LONGEST_URI, "characters": len(uri)},
    )


def _way(server: str, stopped: bool, off: bool) -> str:
    if off:
        return f"it is switched off; `{to_type('server enable {}', server)}` enables it"
    if stopped:
        return f"an operator stopped it; `{to_type('server start {}', server)}` starts it"
    return f"`{to_type('server list')}` says why, `{to_type('server restart {}', server)}` tries again at once"

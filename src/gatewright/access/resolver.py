"""`CatalogueResolver`: looks up tools, prompts, resources and methods by a profile's names for gate `resolve`; explains why a name is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from gatewright.call import Call, Caller, Refusal, Target, Tool
from gatewright.command_text import to_type
from gatewright.servers.declared_methods import owner_of_method
from gatewright.servers.dispatch import Dispatch
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


class CatalogueResolver:
    """Implements `resolve_gate.Catalogue` over the servers of one configuration."""

    def __init__(
        self,
        fleet: ServerSet,
        dispatch: Dispatch,
        may_reach: Callable[[Caller, str], bool],
        barred: Mapping[str, Refusal] = _NOBODY,
    ) -> None:
        """`dispatch` is where calls to this fleet go; `may_reach` is the access gate's; `barred` says which servers may not be used at all, and why."""
        self._may_reach = may_reach
        self._barred = barred
        self._fleet = fleet
        self._dispatch = dispatch
        self._catalogue = fleet.catalogue
        self._prefixes = {
            spec.id: spec.prefix + "__" for spec in fleet.specs.values() if spec.prefix is not None
        }

    def tool(self, profile: str, name: str) -> Tool | None:
        """A tool by any of its names."""
        return self._catalogue.tool(profile, name)

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
        """Everything that `tool` finds."""
        return self._catalogue.view(profile).tools.values()

    def absent(self, call: Call) -> Refusal | None:
        """A server that never said what it offers may still come to own the name. Told only to
        those who could use it: for everybody else the server does not exist."""
        if call.kind == "resource" and (contested := self._contested(call)) is not None:
            return contested
        for server in self._catalogue.view(call.profile).servers:
            if not self._may_own(call, server) or not self._may_reach(call.caller, server):
                continue
            if server in self._barred:
                return self._barred[server]
            state = self._fleet.states.get(server, "registered")
            # With a revision it was connected once, and what it listed then is in the catalogue.
            if state != "connected" and not self._catalogue.listing(server).hello.revision:
                spec = self._fleet.specs.get(server)
                stopped = spec is not None and spec.stopped
                return Refusal(
                    "upstream_unavailable" if stopped else _REASONS.get(state, "server_not_ready"),
                    f"server {server} is not connected ({state}); {_way(server, stopped)}",
                    {"server": server, "state": state},
                    1000,
                )
        return None

    def _contested(self, call: Call) -> Refusal | None:
        """A URI that several servers claim is none of theirs; in qualified form it is one's."""
        found = self._catalogue.claimants(call.profile, call.name, call.caller)
        if len(found) < 2:
            return None if found or len(call.name) <= LONGEST_URI else _too_long(call.name)
        names = [wrap_uri(one) for one in found]
        return Refusal(
            "not_found",
            f"several servers have a resource {call.name[:128]!r}; read one of them as "
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


def _way(server: str, stopped: bool) -> str:
    if stopped:
        return f"an operator stopped it; `{to_type('server start {}', server)}` starts it"
    return f"`{to_type('server list')}` says why, `{to_type('server restart {}', server)}` tries again at once"

"""`ServerSet`: one configuration's servers with catalogue, states and permissions; `reconnects` names changes that need a new connection."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from gatewright.call import KERNEL, Refusal
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.local import LocalServer
from gatewright.servers.server import Server
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import State
from gatewright.servers.status import Status
from gatewright.transport.isolation.rules import Isolation

__all__ = ["ServerSet", "Staged", "reconnects"]

_FELT_AT_ONCE = frozenset(
    {
        "approver",
        "asked",
        "call_s",
        "catalogue",
        "connect_s",
        "created_by",
        "degrades",
        "in_flight",
        "methods",
        "permissions",
        "prefix",
        "private",
        "restart",
        "restart_wait_s",
        "tools",
    }
)
"""Facts of a server that its connection does not know. Every other one needs a new connection, those
that are added later too, until they are named here."""
_ANY_PATIENCE_S = 0.0


def reconnects(before: ServerSpec, after: ServerSpec) -> tuple[str, ...]:
    """The facts by which two words about one server differ so that it needs another connection."""
    return tuple(
        name
        for name in ServerSpec.__struct_fields__
        if name not in _FELT_AT_ONCE and _felt(before, name) != _felt(after, name)
    )


def _felt(spec: ServerSpec, name: str) -> object:
    """A fact as far as a connection has to be made anew for it."""
    if name == "limits":
        # The patience goes with the time limit of calls (`spec_of`), and is not worth a server's state: the next connection has it.
        return msgspec.structs.replace(spec.limits, patience_s=_ANY_PATIENCE_S)
    if name == "isolation" and spec.isolation is not None:
        return _felt_rules(spec.isolation)
    return getattr(spec, name)


def _felt_rules(rules: Isolation) -> Isolation:
    """Without what a child that runs cannot feel: what others may write decides at its start alone, and where it writes nothing, nothing
    has to be kept, and no file is hidden that is not there. The next start has all of it."""
    kept = tuple(msgspec.structs.replace(one, why="") for one in rules.kept)
    rules = msgspec.structs.replace(rules, changed_by_others=(), kept=kept)
    if rules.write:
        return rules
    home = f"{rules.state}/isolated/"
    return msgspec.structs.replace(
        rules,
        kept=tuple(one for one in rules.kept if one.path.startswith(home)),
        hidden=tuple(one for one in rules.hidden if one.startswith(home) or os.path.lexists(one)),
    )


class Staged(msgspec.Struct, frozen=True):
    """The servers of a configuration that is not in force yet; `fresh` are those started for it."""

    specs: Mapping[str, ServerSpec]
    servers: Mapping[str, Server]
    fresh: tuple[Server, ...]


class ServerSet:
    """`specs` are in the order of the configuration; each has its server. `local` are the servers of this process."""

    def __init__(
        self,
        specs: Mapping[str, ServerSpec],
        servers: Mapping[str, Server],
        local: Mapping[str, LocalServer],
        catalogue: Catalogue,
    ) -> None:
        self.specs = specs
        self.servers = servers
        self.catalogue = catalogue
        self._local = local
        self.owners: Mapping[str, Server | LocalServer] = {**servers, **local}
        """All of them, by id."""

    @property
    def states(self) -> Mapping[str, State]:
        """Server id → state."""
        return {one.id: one.state for one in self._all}

    def status(self) -> list[Status]:
        """What an operator sees, in the order of the configuration."""
        return [self._offered(one.status()) for one in self._all]

    def _offered(self, status: Status) -> Status:
        shelf = self.catalogue.shelf(status.id)
        return msgspec.structs.replace(status, tools=len(shelf.tools), warnings=shelf.warnings)

    @property
    def _all(self) -> list[Server | LocalServer]:
        # The gateway's own tools are no server that anybody starts or stops.
        local = (one for one in self._local.values() if one.id != KERNEL)
        return [*self.servers.values(), *local]

    def call_s(self, server: str) -> float:
        """How long one call to a server may take."""
        spec = self.specs.get(server)
        return 0.0 if spec is None else spec.call_s

    def permitted(self, barred: Mapping[str, Refusal]) -> None:
        """The permissions of servers stand differently. `barred` says which may not be connected, and why."""
        for name, server in self.servers.items():
            refusal = barred.get(name)
            server.permitted(blocked="" if refusal is None else refusal.message)

    def standing(self, server: str) -> tuple[ServerSpec, State, Hello] | None:
        """The configuration of a server, its state, and what it said of itself last."""
        one = self.servers.get(server) or self._local.get(server)
        if one is None:
            return None
        return self.specs.get(server, one.spec), one.state, one.hello

    def permissions(self, server: str) -> Mapping[str, str]:
        """What a server asked for, and how that stands."""
        one = self.servers.get(server)
        return {} if one is None else one.permissions()

    def reason(self, server: str) -> str:
        """Why a server is not connected; empty where it is."""
        one = self.servers.get(server)
        return "" if one is None else one.status().reason

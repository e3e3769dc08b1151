"""A gateway's discovery over a few tools, without servers: who may use them, what is listed, and calls about them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from gatewright.call import Call, Caller, Client, Gate, Mgp
from gatewright.config import Discovery, Settings, Storage
from gatewright.config.model import Profile as ProfileTable
from gatewright.discovery.catalogue_index import CatalogueIndex
from gatewright.discovery.methods import MetaTools
from gatewright.discovery.sessions import Sessions
from gatewright.identity.issuers import Known
from gatewright.in_force import InForce
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.listing import Listing
from gatewright.servers.server_set import ServerSet
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import Profile

__all__ = ["AGENT", "House", "defined"]

AGENT = Caller("ann")
BUDGET = Discovery()


def defined(name: str, description: str = "", **more: Any) -> dict[str, msgspec.Raw]:
    """A tool as its server lists it."""
    members = {"name": name, "description": description, "inputSchema": {"type": "object"}, **more}
    return {key: msgspec.Raw(json.dumps(one).encode()) for key, one in members.items()}


class _Server:
    def __init__(self, spec: ServerSpec) -> None:
        self.id, self.spec, self.state = spec.id, spec, "connected"


class _Permission:
    """Gate `permission`: everybody lacks what tools need, but for those who hold it."""

    name = "permission"

    def __init__(self, held: Sequence[str]) -> None:
        self._held = held

    def __call__(self, call: Call, back: object) -> Call:
        return call

    def missing(self, caller: Caller, tool: Any, requested: object) -> list[str]:
        return [one for one in tool.security.permissions_required if one not in self._held]

    def held(self, caller: Caller) -> list[str]:
        return [*self._held]


class House:
    """`tools` are definitions by server; `hidden` are `server/name` of those that nobody sees."""

    def __init__(
        self,
        tools: Mapping[str, Sequence[dict[str, msgspec.Raw]]],
        *,
        hidden: Sequence[str] = (),
        held: Sequence[str] = (),
        settings: Settings | None = None,
        profiles: Mapping[str, ProfileTable] = {},
        budget: Discovery = BUDGET,
    ) -> None:
        self.hidden = set(hidden)
        self.settings = settings or Settings(
            storage=Storage(path=cast("Any", None)), profiles=profiles, discovery=budget
        )
        specs = [ServerSpec(id=one) for one in tools]
        sight = Sight(
            lambda _, tool: f"{tool.target.server}/{tool.target.name}" not in self.hidden,
            lambda *_: True,
            lambda: tuple(self.hidden),
        )
        named = {name: Profile(servers=one.servers) for name, one in profiles.items()}
        self.catalogue = Catalogue(specs, named, sight)
        self.servers = {one.id: _Server(one) for one in specs}
        for name in tools:
            self.lists(name, tools[name])
        made = ServerSet(
            {one.id: one for one in specs}, cast("Any", self.servers), {}, self.catalogue
        )
        self.now = InForce(self.settings)
        gates = {"permission": cast("Gate", _Permission(held))}
        self.now.take(self.settings, gates, made, Known())
        self.index = CatalogueIndex(self.now)
        self.sessions = Sessions(lambda: 0.0)
        self.meta = MetaTools(self.now, self.index, self.sessions, lambda: 0.0)

    def lists(self, server: str, tools: Sequence[dict[str, msgspec.Raw]]) -> None:
        """A server lists these tools from now on."""
        self.catalogue.put(server, Listing(Hello("2025-11-25"), {"tools": [*tools]}))

    def call(
        self, caller: Caller = AGENT, profile: str = "", session: str | None = "s", **more: Any
    ) -> Call:
        """A call of a client that negotiated discovery of tools."""
        return Call(
            id="c",
            door="http",
            kind=more.pop("kind", "method"),
            method=more.pop("method", "mgp/tools/discover"),
            name=more.pop("name", ""),
            params=more.pop("params", {}),
            caller=caller,
            client=Client("2025-11-25", mgp=Mgp("0.2.0", ("tool_discovery",))),
            trace_id="0" * 32,
            profile=profile,
            session=session,
            facts={},
            **more,
        )

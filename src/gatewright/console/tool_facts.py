"""Facts about tools for the console: the catalogue with risk and tokens, one definition with its security, and which agents may call it."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Literal

import msgspec

from gatewright.access.gate import Access
from gatewright.call import KERNEL, Call, Caller, Client, Target, Tool
from gatewright.command_text import to_type
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError
from gatewright.discovery.catalogue_index import words_of
from gatewright.identity.keys import Key
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.versions import LATEST_LEGACY, METHODS
from gatewright.transport.slices import in_slices

__all__ = ["RISKS", "MayCall", "ToolDetail", "ToolFacts", "ToolRow", "first_line"]

RISKS = ("safe", "moderate", "dangerous")
_AGENTS = 100
"""So many agents are asked about."""
_LINE_CHARS = 300
_CLIENT = Client(LATEST_LEGACY, info={"name": "gatewright-console"})


class ToolRow(msgspec.Struct, frozen=True, kw_only=True):
    """One tool in a list."""

    name: str
    """As agents see it."""
    server: str
    tool: str
    """Its own name at its server."""
    description: str
    """The first line."""
    risk: Literal["safe", "moderate", "dangerous"]
    tokens: int
    held: str
    """Why nobody may see it now; empty where it is offered."""


class MayCall(msgspec.Struct, frozen=True, kw_only=True):
    """Whether an agent may call a tool, and which level of the access table says so."""

    agent: str
    allowed: bool
    source: str
    expires: float | None = None


class ToolDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One tool, opened."""

    row: ToolRow
    description: str
    definition: str
    """JSON text, as its server gives it."""
    schema: str
    """Its input schema, JSON text; empty where it has none."""
    validator: str
    validator_args: list[str]
    permissions: list[str]
    confirmation: bool
    repeatable: bool
    flow: list[str]
    hints: list[str]
    callers: list[MayCall]


class ToolFacts:
    """By the catalogue in force."""

    def __init__(self, parts: Dependencies) -> None:
        self._ground = parts.ground
        self._now = parts.ground.now
        self._front = parts.gateway.front
        self._lookup = parts.lookup

    def every(self, server: str, risk: str) -> Generator[None, None, list[Tool]]:
        """The tools of all servers, or of those that fit."""
        found: list[Tool] = []
        for item in self._now.servers.catalogue.view("").items("tools/list"):
            yield
            tool = item.tool
            if tool is None or tool.target.server == KERNEL:
                continue
            if server in ("", tool.target.server) and risk in ("", tool.security.risk_level):
                found.append(tool)
        return found

    async def warm(self) -> None:
        """Have the names of all tools made."""
        await self._now.servers.catalogue.warm(("",))

    def tokens(self, tool: Tool) -> int:
        """What it takes of a context."""
        return self._lookup.tokens(tool)

    def held(self, tool: Tool) -> str:
        """Why agents do not see it; empty where they do."""
        return self._now.servers.catalogue.sight.held(tool)

    def servers(self) -> list[str]:
        """The ids of the servers that have tools."""
        return list(self._now.servers.catalogue.view("").servers)

    def row(self, tool: Tool) -> ToolRow:
        """One line of a list."""
        return ToolRow(
            name=tool.exposed,
            server=tool.target.server,
            tool=tool.target.name,
            description=first_line(words_of(tool)),
            risk=tool.security.risk_level,
            tokens=self.tokens(tool),
            held=self.held(tool),
        )

    def found(self, server: str, name: str) -> Tool:
        """A tool by its server and its own name. Raises `ApiError`."""
        tool = (
            None if server == KERNEL else self._now.servers.catalogue.present(Target(server, name))
        )
        if tool is None:
            raise ApiError(404, "not_found", "there is no such tool", to_type("tool list"))
        # The name that agents have for it is that of the view.
        return self._now.servers.catalogue.view("").tools.get(f"{server}/{name}", tool)

    async def detail(self, server: str, name: str) -> ToolDetail:
        """In slices. Raises `ApiError`."""
        tool = self.found(server, name)
        said, callers = tool.security, await in_slices(self._callers(tool))
        return ToolDetail(
            row=self.row(tool),
            description=words_of(tool),
            definition=_pretty(jsonrpc.encode(tool.definition)),
            schema=_pretty(bytes(tool.definition["inputSchema"]))
            if "inputSchema" in tool.definition
            else "",
            validator=said.validator,
            validator_args=[one for some in said.validator_args.values() for one in some],
            permissions=list(said.permissions_required),
            confirmation=said.confirmation_required,
            repeatable=tool.repeatable,
            flow=list(said.flow),
            hints=list(said.hints),
            callers=callers,
        )

    # -- who may call it

    def agents(self) -> Sequence[str]:
        """The agents that the configuration or a key names, and a caller without any."""
        settings = self._now.settings
        named = {*settings.agents, *(one.agent for one in settings.grants)}
        named.update(one.name for one in self._keys() if one.kind == "agent")
        named -= {"*", "local", "anonymous"}
        return [*sorted(named)[:_AGENTS], "local", "anonymous"]

    def _keys(self) -> list[Key]:
        known = self._ground.callers.keys()
        return [one for one in known if one.revoked is None]

    def caller(self, agent: str) -> Caller:
        """Whom a name means."""
        return self._ground.who(
            self.call_as(Caller("console", "operator"), "tools/list", {}), agent
        )

    def call_as(self, caller: Caller, method: str, params: dict[str, Any]) -> Call:
        """A call that is not made: what questions about one take."""
        inbound = Inbound(b"0", method, params, _CLIENT, METHODS["tools/list"])
        return self._front.call(
            inbound, caller, door="console", credential=None, session=None, profile=""
        )

    def _callers(self, tool: Tool) -> Generator[None, None, list[MayCall]]:
        access = self._now.gate("access", Access)
        if access is None:
            return []
        found: list[MayCall] = []
        for agent in self.agents():
            yield  # to know whom a name means is to look at each key
            caller = self.caller(agent)
            allowed, source, word = access.of_tool(
                caller, tool.target.server, tool.target.name, tool
            )
            found.append(
                MayCall(agent=agent, allowed=allowed, source=source, expires=word.expires_at)
            )
        return found


def first_line(text: str) -> str:
    """The first line of a description, cut where it is long."""
    line = next(iter(text.strip().split("\n")), "")
    return line if len(line) <= _LINE_CHARS else f"{line[:_LINE_CHARS]}…"


def _pretty(text: bytes) -> str:
    # Never read: two numbers may differ by digits that a float does not have.
    return msgspec.json.format(text, indent=2).decode()

"""Facts about tool servers for the console: state, era, transport, tools, tokens, held back tools, possible acts; no variables' values."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from gatewright.call import KERNEL, Tool
from gatewright.command_text import to_type
from gatewright.config import Server as Configured
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError
from gatewright.console.server_traffic import ServerLoad
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Pin
from gatewright.servers.server import Server
from gatewright.servers.states import State
from gatewright.servers.status import Status
from gatewright.transport.slices import in_slices
from gatewright.web.urls import bare

__all__ = ["HELD_SHOWN", "Act", "HeldTool", "ServerDetail", "ServerFacts", "ServerRow", "acts_of"]

HELD_SHOWN = 50
"""So many tools of one server that are held back are shown at a time."""
STDERR_LINES = 200

Act = Literal["start", "restart", "drain", "stop", "enable", "disable"]
_UP: frozenset[State] = frozenset(("connected", "connecting", "restarting"))


class ServerRow(msgspec.Struct, frozen=True, kw_only=True):
    """One server in a list."""

    id: str
    state: State
    since: float | None
    """Since when it has been in its state, in Unix seconds; None for what is part of the gateway."""
    reason: str
    era: str
    """The revision of MCP that it speaks, and MGP where it does."""
    transport: str
    tools: int
    tokens: int
    """What its tools cost in a context that has them all; those that are held back come into none."""
    restarts: int
    sessions: int
    held: int
    """How many of its tools are held back: changed, new or suspicious definitions."""
    running: int
    """Calls that it has now, or that wait on their way to it."""
    load: ServerLoad
    """The last five minutes."""
    enabled: bool


class HeldTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is held back until somebody has looked at it."""

    tool: str
    standing: str
    why: str
    since: float | None
    by: str
    """Who looked at it and left it held back; empty where nobody has."""
    digest: str
    """SHA-256 of what it says now; who accepts names it, so that nobody agrees to what they have not seen."""


class ServerDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One server, opened."""

    row: ServerRow
    name: str
    version: str
    instructions: bool
    mgp: str
    trust: str
    extensions: list[str]
    warnings: list[str]
    stderr: list[str]
    """Its last lines, secrets taken out."""
    last_words: list[str]
    """Of the process that failed last."""
    permissions: dict[str, str]
    risks: dict[str, int]
    """How many of its tools are safe, moderate, dangerous."""
    variables: list[str]
    """The names of its environment variables."""
    headers: list[str]
    """The names of its HTTP headers."""
    reached: str
    """The command, without its arguments, or the URL without what may be secret."""
    isolation: dict[str, str]
    pin: str
    origin: str
    created_by: str
    held: list[HeldTool]
    acts: list[Act]
    """What can be done with it now."""


class ServerFacts:
    """Reads them, on the event loop; what takes longer goes in slices."""

    def __init__(self, parts: Dependencies) -> None:
        self._now = parts.ground.now
        self._clock = parts.clock
        self._counted = parts.lookup
        self._traffic = parts.traffic.servers
        self._kernel = parts.gateway.inside.kernel
        self.decisions = parts.ground.of(Decisions)

    # -- lists

    async def rows(self) -> list[ServerRow]:
        """All servers, in the order of the configuration."""
        fleet = self._now.servers
        await fleet.catalogue.warm(("",))
        tokens, held = await in_slices(self._tokens()), await in_slices(self._held_counts())
        running = Counter(
            one.call.target.server for one in self._kernel.present() if one.call.target is not None
        )
        return [self._row(one, tokens, held, running[one.id]) for one in fleet.status()]

    def _tokens(self) -> Generator[None, None, Mapping[str, int]]:
        """What the tools of each server cost that agents see."""
        found: dict[str, int] = {}
        count, held = self._counted.tokens, self._now.servers.catalogue.sight.held
        for item in self._now.servers.catalogue.view("").items("tools/list"):
            yield
            tool = item.tool
            if tool is not None and tool.target.server != KERNEL and not held(tool):
                found[item.server] = found.get(item.server, 0) + count(tool)
        return found

    def _held_counts(self) -> Generator[None, None, Mapping[str, int]]:
        """How many tools of each server nobody may see until somebody has looked."""
        catalogue = self._now.servers.catalogue
        found: dict[str, int] = {}
        for server in self._now.servers.servers:
            for tool in catalogue.shelf(server).tools:
                yield
                # Asked, a tool is judged that nobody has asked for since it was listed.
                if catalogue.sight.held(tool):
                    found[server] = found.get(server, 0) + 1
        return found

    def _row(
        self, status: Status, tokens: Mapping[str, int], held: Mapping[str, int], running: int
    ) -> ServerRow:
        server = self._now.servers.servers.get(status.id)
        mgp = f" · MGP {status.mgp_version}" if status.mgp_version else ""
        return ServerRow(
            id=status.id,
            state=status.state,
            since=None if server is None else self._since(server),
            reason=status.reason,
            era=status.revision + mgp,
            transport=status.transport,
            tools=status.tools,
            tokens=tokens.get(status.id, 0),
            restarts=status.restarts,
            sessions=status.sessions,
            held=held.get(status.id, 0),
            running=running,
            load=self._traffic.of(status.id),
            enabled=server is None or server.spec.enabled,
        )

    def _since(self, server: Server) -> float:
        return self._clock() - max(0.0, asyncio.get_running_loop().time() - server.life.since)

    # -- one

    async def detail(self, id: str) -> ServerDetail:
        """Raises `ApiError`."""
        row = next((one for one in await self.rows() if one.id == id), None)
        fleet = self._now.servers
        owner = fleet.owners.get(id)
        if row is None or owner is None:
            raise ApiError(404, "not_found", "there is no such server", to_type("server list"))
        status, configured = owner.status(), self._now.settings.server(id)
        server = owner if isinstance(owner, Server) else None
        tools = fleet.catalogue.shelf(id).tools
        return ServerDetail(
            row=row,
            name=str(status.info.get("name", "")),
            version=str(status.info.get("version", "")),
            instructions=bool(owner.hello.instructions),
            mgp=status.mgp_version or "",
            trust=status.trust_level or "",
            extensions=list(status.mgp_extensions),
            warnings=list(fleet.catalogue.shelf(id).warnings),
            stderr=list(status.stderr)[-STDERR_LINES:],
            last_words=list(status.last_words),
            permissions={} if server is None else dict(server.permissions()),
            risks={
                risk: sum(tool.security.risk_level == risk for tool in tools)
                for risk in ("safe", "moderate", "dangerous")
            },
            variables=[] if configured is None else sorted(configured.env),
            headers=[] if configured is None else sorted(configured.headers),
            reached="" if configured is None else _reached(configured),
            isolation={} if configured is None else _isolation(configured),
            pin="" if configured is None else configured.pin,
            origin="" if configured is None else str(configured.origin),
            created_by="" if configured is None else configured.created_by,
            held=self._held(tools),
            acts=[] if server is None else acts_of(server, configured),
        )

    def _held(self, tools: Sequence[Tool]) -> list[HeldTool]:
        why = self._now.servers.catalogue.sight.held
        held = [(tool.target, said) for tool in tools if (said := why(tool))][:HELD_SHOWN]
        if not held:
            return []
        names = [target.name for target, _ in held]
        known = {} if self.decisions is None else self.decisions.heads(held[0][0].server, names)
        return [_shown(target.name, said, known.get(target.name)) for target, said in held]


def _shown(tool: str, why: str, pin: Pin | None) -> HeldTool:
    if pin is None:  # there is no room to remember what it says
        return HeldTool(tool=tool, standing="crowded", why=why, since=None, by="", digest="")
    return HeldTool(
        tool=tool, standing=pin.standing, why=why, since=pin.since, by=pin.by, digest=pin.digest
    )


def acts_of(server: Server, configured: Configured | None) -> list[Act]:
    """What an operator can do with a server as it stands."""
    spec, state = server.spec, server.state
    found: list[Act] = []
    written = configured is not None and not configured.created_by
    if not spec.enabled:
        return ["enable"] if written else []
    if spec.stopped or state in ("error", "disconnected", "registered"):
        found.append("start")
    if state in _UP:
        found.append("restart")
    if state == "connected":
        found.append("drain")
    if not spec.stopped and state != "draining":
        found.append("stop")
    return [*found, "disable"] if written else found


def _reached(server: Configured) -> str:
    if server.transport == "stdio":
        return server.command
    if server.transport == "python":
        return server.python
    said = server.openapi if server.transport == "openapi" else server.url
    return bare(said or "")


def _isolation(server: Configured) -> dict[str, str]:
    if server.transport != "stdio":
        return {}
    said = server.confinement
    if said.level == "none":
        return {"level": "none"}
    found: dict[str, Any] = {
        "level": said.level,
        "network": "open" if said.network else "none",
        "reads": ", ".join(map(str, said.read)),
        "writes": ", ".join(map(str, said.write)),
        "memory": f"{said.memory_bytes >> 20} MiB",
        "processes": said.processes,
    }
    return {name: str(value) for name, value in found.items() if value != ""}

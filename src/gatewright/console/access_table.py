"""`AccessTable`: which agent may use which tool, as a grid: each cell's decision and its source, every grant behind it, gates' verdicts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence, Set
from typing import Any, Literal, NamedTuple

import msgspec

from gatewright.access.authority import Authority
from gatewright.access.configured_grants import grants_of
from gatewright.access.gate import Access
from gatewright.access.grants import EVERYBODY, Grant, Key
from gatewright.approvals.gate import asks_about
from gatewright.call import Call, Caller, Client, Tool
from gatewright.console.paging import page_of
from gatewright.feature import Ground
from gatewright.kernel import Kernel
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.rehearsal import Verdict

__all__ = ["AccessTable", "Cell", "Grid", "Order", "Said", "Word"]

Word = Literal["allow", "ask", "deny"]
_OF_ARGUMENTS = frozenset({"authenticate", "session", "schema", "validators", "rate", "draining"})
"""Gates that say nothing of who may use what: they judge the moment, or arguments, of which there are none."""
_AGENTS, _TOOLS = 25, 40


class Order(NamedTuple):
    """Where one side of a part begins, and in which direction it goes."""

    after: str = ""
    desc: bool = False


_FIRST = Order()


class Cell(msgspec.Struct, frozen=True):
    """What holds for one agent and one tool."""

    word: Word
    by: str
    """The level that says so: `tool_grant`, `server_grant`, `default_policy`, `owner`, `caller_permission`."""
    inherited: bool
    """Whether that is no grant of this agent for this very tool."""
    granted_by: str = ""
    expires: float | None = None


class Grid(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the table: agents down, tools across."""

    agents: Sequence[str]
    tools: Sequence[tuple[str, str]]
    """Server and tool, by the server."""
    cells: Sequence[Sequence[Cell]]
    """By agent, then by tool."""
    next_agents: str
    """`agents_after` of the agents behind these; empty where there are none."""
    next_tools: str
    """The same of tools."""
    tools_in_all: int
    held: Sequence[bool] = ()
    """Of each of `tools`, whether nobody sees or calls it, whatever its cells say, until somebody has looked at its definition."""


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One grant about a cell."""

    agent: str
    server: str
    tool: str | None
    permission: str
    origin: str
    """`issued`, or the file and line that have it."""
    by: str
    expires: float | None
    justification: str


class AccessTable:
    """Of one gateway, by the configuration in force."""

    def __init__(self, ground: Ground, authority: Authority, clock: Callable[[], float]) -> None:
        self._ground = ground
        self._authority = authority
        self._clock = clock

    def agents(self) -> list[str]:
        """Everybody whom a key, a grant or the configuration names; `*` first."""
        settings, now = self._ground.now.settings, self._clock()
        found = {one.agent for one in settings.grants} | {one.agent for one in self.issued()}
        found |= set(settings.agents)
        keys = self._ground.callers.keys()
        found |= {
            one.name
            for one in keys
            if one.kind == "agent"
            and one.revoked is None
            and (one.expires is None or now < one.expires)
        }
        if settings.gateway.anonymous == "allow":
            found.add("anonymous")
        return [EVERYBODY, *sorted(found - {EVERYBODY})]

    def tools(self, server: str = "", text: str = "") -> Generator[None, None, list[Tool]]:
        """The tools of the configured servers, by server and name; of one server, or with a text in their name. In steps."""
        settings, catalogue = self._ground.now.settings, self._ground.now.catalogue()
        found: list[Tool] = []
        for id in sorted(one.id for one in settings.servers if server in ("", one.id)):
            yield
            shelf = sorted(catalogue.shelf(id).tools, key=lambda one: one.target.name)
            found += [one for one in shelf if text.lower() in one.target.name.lower()]
        return found

    def grid(
        self,
        *,
        agent: str,
        server: str,
        text: str,
        agents: Order = _FIRST,
        tools: Order = _FIRST,
        by_name: bool = False,
    ) -> Generator[None, None, Grid]:
        """A part of the table: agents by name, tools by server and name, or with `by_name` by their name first. In steps
        (`transport.slices`). Raises `ApiError`."""
        every = yield from self.tools(server, text)
        rows, more_agents, _ = yield from page_of(
            (one for one in self.agents() if agent in ("", one)),
            lambda one: (int(one != EVERYBODY), one),
            after=agents.after,
            limit=_AGENTS,
            descending=agents.desc,
        )
        columns, more_tools, total = yield from page_of(
            every,
            lambda one: (one.target.name if by_name else one.target.server, _ident(one)),
            after=tools.after,
            limit=_TOOLS,
            descending=tools.desc,
        )
        written, cells = self._written(), list[list[Cell]]()
        for name in rows:
            yield
            caller = self.caller(name)
            cells.append([self._cell(caller, tool, written) for tool in columns])
        held = list[bool]()
        for tool in columns:
            yield  # one that nobody has asked for since it was listed is judged now
            held.append(bool(self.held(tool)))
        return Grid(
            agents=rows,
            tools=[(one.target.server, one.target.name) for one in columns],
            cells=cells,
            next_agents=more_agents,
            next_tools=more_tools,
            tools_in_all=total,
            held=held,
        )

    def cell(self, agent: str, server: str, name: str) -> Cell:
        """What holds for one tool, also for one that there is not."""
        tool = self.tool(server, name)
        caller = self.caller(agent)
        if tool is not None:
            return self._cell(caller, tool, self._written())
        return _told(agent, *self._access().of_tool(caller, server, name, None)[:2])

    def tool(self, server: str, name: str) -> Tool | None:
        """The tool as its server lists it now."""
        shelf = self._ground.now.catalogue().shelf(server).tools
        return next((one for one in shelf if one.target.name == name), None)

    def held(self, tool: Tool) -> str:
        """Why nobody sees or calls a tool, whoever may: its definition is held back. Empty where it is not."""
        return self._ground.now.catalogue().sight.held(tool)

    def caller(self, agent: str) -> Caller:
        """Whom a name means."""
        return self._ground.who(_call(Caller("gatewright", "operator"), ""), agent)

    def said(self, agent: str, server: str, tool: str | None) -> list[Said]:
        """Every grant that is about this cell: of the agent or of everybody, for the tool or its whole server."""
        settings = self._ground.now.settings
        # There may be thousands about other cells.
        about = tuple(
            one
            for one in settings.grants
            if one.agent in (agent, EVERYBODY) and one.server == server and one.tool in (None, tool)
        )
        found = grants_of(msgspec.structs.replace(settings, grants=about))
        written = {one: str(one.granted_by) for one in found if not one.granted_at}
        words = [*((one, by.removeprefix("config ")) for one, by in written.items())]
        words += [(one, "issued") for one in self.issued()]
        return [
            Said(
                agent=one.agent,
                server=one.server,
                tool=one.tool,
                permission=one.permission,
                origin=origin,
                by=one.granted_by if origin == "issued" else "configuration",
                expires=one.expires_at,
                justification=one.justification,
            )
            for one, origin in words
            if one.agent in (agent, EVERYBODY) and one.server == server and one.tool in (None, tool)
        ]

    def issued(self) -> Iterator[Grant]:
        """What was issued and holds."""
        now = self._clock()
        return (one for one in self._authority.layer if one.holds(now))

    async def verdicts(self, kernel: Kernel, agent: str, tool: Tool) -> list[Verdict]:
        """What each gate would say that judges who may use what."""
        caller = self.caller(agent)
        name = self._ground.now.catalogue().shown_as("", tool.target, caller) or tool.exposed
        found = await kernel.rehearse(_call(caller, name))
        return [one for one in found if one.gate not in _OF_ARGUMENTS]

    def _access(self) -> Access:
        found = self._ground.now.gate("access", Access)
        if found is None:
            raise RuntimeError("no gate says who may do what")
        return found

    def _cell(self, caller: Caller, tool: Tool, written: Set[Key]) -> Cell:
        target = tool.target
        allowed, by, word = self._access().of_tool(caller, target.server, target.name, tool)
        key: Key = (caller.id, target.server, target.name)
        asks = allowed and asks_about(tool, by)
        return Cell(
            "deny" if not allowed else "ask" if asks else "allow",
            by,
            key not in written and self._authority.layer.get(key, self._clock()) is None,
            word.granted_by or "",
            word.expires_at,
        )

    def _written(self) -> Set[Key]:
        """What the configuration says something about: looked through once for all cells."""
        return {(one.agent, one.server, one.tool) for one in self._ground.now.settings.grants}


def _told(agent: str, allowed: bool, by: str) -> Cell:
    return Cell("allow" if allowed else "deny", by, inherited=True)


def _ident(tool: Tool) -> str:
    # As texts that say where the one ends and the other begins: names of both may be anything.
    return msgspec.json.encode((tool.target.server, tool.target.name)).decode()


def _call(caller: Caller, exposed: str) -> Call:
    params: dict[str, Any] = {"name": exposed, "arguments": {}}
    return Call(
        id="console",
        door="http",
        kind="tool",
        method="tools/call",
        name=exposed,
        params=params,
        caller=caller,
        client=Client(LATEST_LEGACY),
        trace_id="console",
    )
